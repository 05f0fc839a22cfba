"""What a Pod's labels and annotations say, whoever wrote them."""

import pytest

from scaler_core.api.pod import GROUP_SIZE, MEMBER_LABEL, ORDINAL_LABEL, Pod


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param("3", 3, id="a number"),
        pytest.param("2147483647", 2147483647, id="the largest of 32 bits"),
        pytest.param("1" * 11, None, id="more digits than Kubernetes counts with"),
        pytest.param("1" * 5000, None, id="more digits than Python reads"),
        pytest.param("-1", None, id="a sign"),
        pytest.param("1_0", None, id="an underscore"),
        pytest.param("\u0663", None, id="a digit of another script"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_number_in_a_label_or_annotation_is_a_plain_one_or_none(text: str, number: int | None) -> None:
    metadata = {"name": "a", "labels": {ORDINAL_LABEL: text, MEMBER_LABEL: text}, "annotations": {GROUP_SIZE: text}}
    pod = Pod.from_wire({"metadata": metadata})
    assert (pod.ordinal, pod.member, pod.group_size) == (number, number or 0, number)

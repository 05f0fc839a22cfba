"""Who is asked in a pass, remembered and still right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from scaler_controller.sampling import roster
from scaler_controller.sampling.endpoints import metrics_url
from scaler_controller.sampling.roster import Roster, Rosters
from scaler_core.api.pod import Pod
from scaler_core.model.scrape import ScrapeFailure
from tests.core.signals import worlds

ROLES = frozenset({"prefill", "decode"})
TARGETS = [worlds.target(prefill=2, decode=2), worlds.target(prefill=2)]
PODS = [worlds.pod(role, ordinal) for role in ("prefill", "decode") for ordinal in range(3)]


def changed(pod: Pod) -> Pod:
    metadata = pod.metadata.model_copy(update={"deletion_timestamp": 1.0})
    return pod.model_copy(update={"metadata": metadata})


@given(
    st.lists(
        st.tuples(
            st.sampled_from(TARGETS),
            st.sampled_from([ROLES, frozenset({"decode"})]),
            st.lists(st.sampled_from([*PODS, changed(PODS[0]), PODS[0].model_copy()]), max_size=4),
        ),
        max_size=6,
    )
)
def test_a_remembered_roster_is_the_one_of_these_pods(passes: list[tuple[object, frozenset[str], list[Pod]]]) -> None:
    rosters = Rosters()
    for target, roles, pods in passes:
        found = rosters.roster(target, roles, pods)  # type: ignore[arg-type]
        assert found == Roster.of(target, roles, tuple(pods))  # type: ignore[arg-type]


def test_the_roster_of_the_same_pods_is_not_made_again() -> None:
    rosters = Rosters()
    first = rosters.roster(TARGETS[0], ROLES, PODS)
    assert rosters.roster(TARGETS[0], {"decode", "prefill"}, tuple(PODS)) is first
    assert rosters.roster(TARGETS[0], ROLES, PODS[1:]) is not first


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "_REMEMBERED", 2)
    rosters = Rosters()
    targets = [
        target.model_copy(update={"metadata": target.metadata.model_copy(update={"uid": uid})})
        for target, uid in zip([TARGETS[0]] * 3, "abc", strict=True)
    ]
    first, second, _ = (rosters.roster(target, ROLES, PODS) for target in targets)
    assert rosters.roster(targets[1], ROLES, PODS) is second
    assert rosters.roster(targets[0], ROLES, PODS) is not first


def test_an_answer_is_filed_under_its_pod() -> None:
    question = Rosters().roster(TARGETS[0], ROLES, PODS).questions[1]
    scrape = question.answered(ScrapeFailure(why="HTTP 500"), 12.5)
    pod = PODS[1]
    assert (scrape.pod_uid, scrape.pod_name, scrape.role) == (pod.metadata.uid, pod.metadata.name, "prefill")
    assert (scrape.ordinal, scrape.member, scrape.container, scrape.read_at) == (1, 0, "c#0", 12.5)


def test_a_pod_whose_address_cannot_be_made_is_a_failed_read_of_that_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(pod: Pod) -> URL | ScrapeFailure:
        if pod is PODS[0]:
            raise ValueError("Exceeds the limit (4300 digits) for integer string conversion")
        return metrics_url(pod)

    monkeypatch.setattr(roster, "metrics_url", broken)
    questions = Rosters().roster(TARGETS[0], ROLES, PODS).questions
    others = Rosters().roster(TARGETS[0], ROLES, PODS[1:]).questions
    assert isinstance(questions[0].url, ScrapeFailure)
    assert "internal error" in questions[0].url.why
    assert questions[1:] == others

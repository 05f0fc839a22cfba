"""The doctor tells a webhook that judges from one that is missing, down, or refuses everything."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from scaler_cli import doctor
from scaler_kube import errors
from scaler_kube.client import KubeClient
from scaler_kube.transport import Call, Document, Timeouts

INVALID = 'admission webhook "scaler-rules.gpustack.ai" denied the request: spec.roles[server].minReplicas: 2 refused'


@dataclass
class Server:
    """Answers one write after the other."""

    answers: Sequence[errors.KubeError | None]
    asked: int = 0
    timeouts: Timeouts = field(default_factory=Timeouts)

    async def exchange(self, call: Call, *, deadline: float | None = None) -> Document:
        assert call.query["dryRun"] == "All", "nothing may be stored"
        answer = self.answers[self.asked]
        self.asked += 1
        if answer is not None:
            raise answer
        return {}


def refusal(text: str, code: int = 403) -> errors.KubeError:
    request = errors.Request(method="POST", path="/apis")
    return errors.from_answer(request, code, errors.Status(message=text, details={}))


@pytest.mark.parametrize(
    ("answers", "fine"),
    [
        pytest.param((refusal(INVALID), None), [True, True], id="the webhook judges"),
        pytest.param((None, None), [False, True], id="no webhook is asked"),
        pytest.param(
            (refusal('failed calling webhook "scaler-rules.gpustack.ai": refused', 500),) * 2,
            [False, False],
            id="the webhook is down",
        ),
        pytest.param((refusal(INVALID), refusal(INVALID)), [True, False], id="the webhook refuses everything"),
        pytest.param((refusal("may not create"),) * 2, [False, False], id="we may not create scalers"),
        pytest.param(
            (refusal('admission webhook "other.example.org" denied the request: no'),) * 2,
            [False, False],
            id="another webhook refuses",
        ),
    ],
)
async def test_what_the_answers_mean(answers: Sequence[errors.KubeError | None], fine: list[bool]) -> None:
    client = KubeClient(transport=Server(answers), field_manager="test")  # type: ignore[arg-type]
    findings = [await doctor.refuses(client, "default", "v1"), await doctor.admits(client, "default", "v1")]
    assert [finding.is_fine for finding in findings] == fine

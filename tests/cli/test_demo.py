"""`mds demo`: what is printed where."""

import io
import json
from typing import Any

import pytest
from rich.console import Console

from scaler_cli import demo
from scaler_core.api.scaler_spec import AlgorithmType
from scaler_core.model.scrape import Engine
from scaler_sim.demo.settings import DemoSettings
from scaler_sim.demo.summary import Summary

SETTINGS = DemoSettings(engine=Engine.VLLM, algorithm=AlgorithmType.PROPORTIONAL, speed=8.0, seed=1)
SUMMARY = Summary(
    settings=SETTINGS,
    decisions=(),
    lead_seconds=None,
    was_above_before_ramp=False,
    phases=(),
    replica_seconds=1.0,
    final_counts={"prefill": 1},
    changed_defaults=(),
    refusals=(),
    clock_seconds=8.0,
    real_seconds=1.0,
)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_line_for_programs_stays_away_from_terminals(
    is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def played(*_: Any) -> Summary:
        return SUMMARY

    monkeypatch.setattr(demo, "_interruptible", played)
    text = io.StringIO()
    assert demo.run(SETTINGS, Console(file=text, force_terminal=is_terminal)) == 0
    assert "Final counts: prefill 1" in text.getvalue()
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["finalCounts"] for line in lines] == ([] if is_terminal else [{"prefill": 1}])

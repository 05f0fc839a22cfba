"""Mutants of the product that the interleavings must catch: `python -m tests.controller.faults.mutants`.

Each patches one function at run time and plays until an invariant breaks, for as many interleavings as CI has.
"""

import argparse
import concurrent.futures
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from unittest import mock

from scaler_controller.reconciler.carry_out import Executor
from scaler_core.transactions import cohort, intent, owner, patches, rebalance, replicas, retirement
from tests.controller.faults.playing import play

BUDGET = 5000


@contextlib.contextmanager
def intent_not_written() -> Iterator[None]:
    """The target is written without a stored intent."""

    async def skip(self: Executor, decision: Any, world: Any) -> Any:
        return world.scaler

    with mock.patch.object(Executor, "_store_intent", skip):
        yield


@contextlib.contextmanager
def generation_not_tested() -> Iterator[None]:
    """The target's generation is not among the tests of the patch."""
    whole = patches._tests

    def without(target: Any) -> Any:
        return tuple(test for test in whole(target) if test["path"] != "/metadata/generation")

    with mock.patch.object(patches, "_tests", without):
        yield


@contextlib.contextmanager
def unknown_decision_not_adopted() -> Iterator[None]:
    """A decision of our term that the status does not know is not taken for ours."""
    with mock.patch.object(intent, "unknown_decision", return_value=None):
        yield


@contextlib.contextmanager
def workload_uid_not_checked() -> Iterator[None]:
    """A Workload that was there before the commit counts as the added replica's admission."""
    whole = replicas.Replicas.is_admitted

    def unchecked(self: Any, replica: Any, stale: Mapping[str, str]) -> bool:
        return whole(self, replica, {})

    with mock.patch.object(replicas.Replicas, "is_admitted", unchecked):
        yield


@contextlib.contextmanager
def intent_cleared_by_absence() -> Iterator[None]:
    """An open intent is forgotten because the target does not show it."""
    whole = intent.trace

    def impatient(*arguments: Any) -> Any:
        event = whole(*arguments)
        return intent.IntentEvent.EXPIRED if event is intent.IntentEvent.OPEN else event

    with mock.patch.object(intent, "trace", impatient):
        yield


@contextlib.contextmanager
def removed_ordinals_taken_for_one() -> Iterator[None]:
    """Of several replicas that one commit removed only the first is followed."""
    whole = retirement.removed_replicas

    def first(*arguments: Any) -> Any:
        return whole(*arguments)[:1]

    with mock.patch.object(retirement, "removed_replicas", first):
        yield


@contextlib.contextmanager
def added_ordinals_taken_for_one() -> Iterator[None]:
    """Of several replicas that one commit added only the first must be admitted."""
    whole = cohort.observe

    def first(pending: Any, *arguments: Any) -> Any:
        view = whole(pending, *arguments)
        if not view.added or view.added[0] in view.missing:
            return view
        return replace(view, event=cohort.CohortEvent.ADMITTED, missing=())

    with mock.patch.object(cohort, "observe", first):
        yield


@contextlib.contextmanager
def receiver_forgotten() -> Iterator[None]:
    """Once the donor's replica is gone, nobody remembers whom it was for."""

    def keep(draft: Any, *_: Any) -> tuple[Any, None]:
        moved = rebalance.move(draft.status.rebalance, rebalance.RebalanceEvent.UNFIT, "forgotten")
        return draft.having(rebalance=moved), None

    with mock.patch.object(rebalance, "recheck", return_value="forgotten"), mock.patch.object(owner, "_way_back", keep):
        yield


Mutant = Callable[[], contextlib.AbstractContextManager[None]]
MUTANTS: Mapping[str, Mutant] = {
    mutant.__name__: mutant
    for mutant in (
        intent_not_written,
        generation_not_tested,
        unknown_decision_not_adopted,
        workload_uid_not_checked,
        intent_cleared_by_absence,
        removed_ordinals_taken_for_one,
        added_ordinals_taken_for_one,
        receiver_forgotten,
    )
}


def catch(mutant: Mutant, seed: int, budget: int = BUDGET) -> str | None:
    """The invariant that a mutant breaks; None when the interleavings let it live. Any other error is not a catch."""
    with mutant():
        try:
            play(interleavings=budget, seed=seed, shrinks=False)
        except AssertionError as error:
            return str(error).partition("\n")[0] or "an invariant without a message"
    return None


def judge(name: str, seed: int, budget: int) -> tuple[str, float, str | None]:
    """A mutant's name, the seconds that it took, and what caught it."""
    began = time.monotonic()
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        found = catch(MUTANTS[name], seed, budget)
    return name, time.monotonic() - began, found


def main() -> int:
    """Play against every mutant (or those that are named); 1 when one lives."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(MUTANTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=BUDGET, help="interleavings for each mutant")
    chosen = parser.parse_args()
    names = chosen.names or list(MUTANTS)
    if unknown := [name for name in names if name not in MUTANTS]:
        parser.error(f"no such mutant: {', '.join(unknown)}; there are {', '.join(MUTANTS)}")
    alive = 0
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for done in concurrent.futures.as_completed(
            [pool.submit(judge, name, chosen.seed, chosen.budget) for name in names]
        ):
            name, seconds, found = done.result()
            alive += found is None
            verdict = f"caught by: {found[:100]}" if found else f"LIVES after {chosen.budget} interleavings"
            sys.stdout.write(f"{name:32} {seconds:4.0f} s  {verdict}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(names) - alive} of {len(names)} mutants were caught\n")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())

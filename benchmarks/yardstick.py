"""Time against a yardstick of the same run: `json.loads` of a 4 KiB document, so that machines can be compared."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time
from timeit import Timer

DOCUMENT = json.dumps({"samples": [{"timestamp": 1_800_000_000 + 15 * i, "replicas": i % 64} for i in range(93)]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measurement and the most that it may be."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def is_within(self) -> bool:
        """Whether the limit holds."""
        return self.value <= self.limit


def microseconds(work: Callable[[], object]) -> float:
    """The best processor time of one call, of several runs: what the machine can do when nobody disturbs it."""
    timer = Timer(work, timer=process_time)
    number, _ = timer.autorange()
    number = max(1, number // 4)
    return min(timer.repeat(repeat=7, number=number)) / number * 1e6


def report(title: str, rows: Sequence[Row]) -> None:
    """Print the rows, times also as multiples of the yardstick; exit 1 when a limit is broken."""
    yardstick = microseconds(lambda: json.loads(DOCUMENT))
    print(f"{title}  (json.loads of {len(DOCUMENT) / 1024:.1f} KiB: {yardstick:.1f} us)")
    print(f"  {'':58} {'measured':>12} {'limit':>12} {'x json.loads':>13}")
    for row in rows:
        ratio = f"{row.value / yardstick:.1f}" if row.unit == "us" else ""
        verdict = "" if row.is_within else "  OVER"
        print(f"  {row.name:58} {row.value:9.1f} {row.unit:2} {row.limit:9.0f} {row.unit:2} {ratio:>13}{verdict}")
    if not all(row.is_within for row in rows):
        sys.exit(1)

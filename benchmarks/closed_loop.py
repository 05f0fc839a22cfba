"""What the closed loops of the tests do, as a table: peak, count changes, time to enough capacity.

Usage: python -m benchmarks.closed_loop [--write docs/closed-loop.md]
"""

import argparse
from pathlib import Path

from benchmarks.forecast_quality import replace_table
from tests.core.algorithms.closed_loop_cases import CASES, EVENT, Case, run


def row(case: Case, algorithm: str) -> str:
    """One line of the table; the bound that the test states is in brackets."""
    bound, seen = case.bounds[algorithm], run(case.name, algorithm)
    overshoot = 100 * (seen.peak - case.needed) / case.needed
    cells = [
        case.name,
        algorithm,
        f"{case.needed}",
        f"{seen.peak} ({bound.peak})",
        f"{overshoot:.0f} %",
        f"{seen.changes} ({bound.changes})",
        f"{seen.enough_after(EVENT):.0f} s",
        f"{seen.counts[-1]}",
        f"{seen.replica_hours():.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def table() -> str:
    """Every case under every algorithm that it has a bound for."""
    head = ["Load", "Algorithm", "Needed", "Peak", "Overshoot", "Changes", "Enough after", "Last", "Replica-hours"]
    lines = [f"| {' | '.join(head)} |", f"|---|---|{'---:|' * 7}"]
    return "\n".join([*lines, *(row(case, algorithm) for case in CASES for algorithm in case.bounds)])


def main() -> None:
    """Print the table, or write it between the marks of a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="a Markdown page with the marks of a table")
    given = parser.parse_args()
    if given.write is None:
        print(table())
    else:
        replace_table(given.write, table())


if __name__ == "__main__":
    main()

"""Moments and spans of time as people read them."""

from datetime import UTC, datetime

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"))


def span(seconds: float) -> str:
    """`45s`, `3m20s`, `2h5m`, `4d1h`: two units at most."""
    left = max(0, round(seconds))
    for size, unit in _UNITS:
        if left >= size:
            smaller, name = {"d": (3600, "h"), "h": (60, "m"), "m": (1, "s")}[unit]
            rest = left % size // smaller
            return f"{left // size}{unit}{f'{rest}{name}' if rest else ''}"
    return f"{left}s"


def clock_time(seconds: float) -> str:
    """Time of day in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def relative(moment: float, now: float) -> str:
    """`14:02:10 (in 3m)` or `14:02:10 (3m ago)`."""
    left = moment - now
    return f"{clock_time(moment)} ({f'in {span(left)}' if left >= 0 else f'{span(-left)} ago'})"

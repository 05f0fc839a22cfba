"""`python -m scaler_controller`."""

import sys
from collections.abc import Callable

from scaler_kube import interruption


def main() -> None:
    """Run the controller and exit with its status."""
    interruption.start("scaler-controller", _load)


def _load() -> Callable[[], object]:
    from scaler_controller import main as process  # takes its time

    return lambda: sys.exit(process.main())


if __name__ == "__main__":
    main()

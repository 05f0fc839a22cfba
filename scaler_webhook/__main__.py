"""`python -m scaler_webhook`."""

import sys
from collections.abc import Callable

from scaler_kube import interruption


def main() -> None:
    """Run the webhook and exit with its status."""
    interruption.start("scaler-webhook", _load)


def _load() -> Callable[[], object]:
    from scaler_webhook import main as process  # takes its time

    return lambda: sys.exit(process.main())


if __name__ == "__main__":
    main()

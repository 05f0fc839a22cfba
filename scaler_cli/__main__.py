"""`mds`, and `python -m scaler_cli`."""

from collections.abc import Callable

from scaler_kube import interruption


def main() -> None:
    """Entry point of the console script."""
    interruption.start("mds", _load)


def _load() -> Callable[[], object]:
    from scaler_cli.main import app  # takes its time

    return app


if __name__ == "__main__":
    main()

"""`python -m scaler_controller`."""

import sys

from scaler_controller import main as process


def main() -> None:
    """Run the controller and exit with its status."""
    sys.exit(process.main())


if __name__ == "__main__":
    main()

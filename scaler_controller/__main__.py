"""`python -m scaler_controller`."""


def main() -> None:
    """Run the controller."""
    raise SystemExit("not built yet")


if __name__ == "__main__":
    main()

"""The controller's main."""

"""Life of the controller's process: leadership, workers, servers, and the order in which they start and stop."""

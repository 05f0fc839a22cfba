"""Life cycle of the process: leadership, informers, workers, servers."""

"""Files of a log directory: names, listing, paths, checkpoints, indexes, locks, durable writes."""

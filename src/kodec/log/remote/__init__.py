"""What is read as a log directory without being one: remote storage, points of backups, Redpanda's data."""

"""Log directories of brokers: files, lookup, checkpoints, health; read only."""

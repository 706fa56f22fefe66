"""Backups of log directories, incremental and verified: taken beside a running broker, listed, checked and
pruned."""

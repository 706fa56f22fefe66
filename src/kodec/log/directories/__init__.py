"""Log directories as a broker leaves them: files, lookup, checkpoints, health; reads only."""

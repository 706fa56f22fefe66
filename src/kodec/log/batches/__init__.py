"""What one batch of a log is, in any format, and the records in it; both ways."""

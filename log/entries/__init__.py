"""What one entry of a log is, in any format, and the records in it; both ways."""

"""Tables of a lake that logs are appended to, Apache Iceberg's and Delta's: a file for each format."""

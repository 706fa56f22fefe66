"""Lakehouse tables that logs are appended to, Apache Iceberg's and Delta's: a module for each format."""

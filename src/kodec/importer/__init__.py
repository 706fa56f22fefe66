"""Kafka's own message definitions to .ksy files: knows Kafka, for a generator that does not."""

"""Kafka's own message definitions to .ksy files: contains the knowledge of Kafka that the generator lacks."""

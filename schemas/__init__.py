"""Kafka's formats as Kaitai Struct schemas: data only."""

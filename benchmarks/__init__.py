"""Measures kodec beside other readers and writers of Kafka's formats: `python -m benchmarks`."""

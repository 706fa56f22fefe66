"""Measures kodec's pure-Python codec beside other readers of Kafka's formats: `python -m benchmarks`."""

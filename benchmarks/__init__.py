"""How fast kodec's pure-Python codec is beside other readers of Kafka's formats; run as `python -m benchmarks`."""

"""Kafka's own Java classes as a peer of the benchmarks."""

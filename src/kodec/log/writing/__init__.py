"""Segments, partitions and log directories written as a broker writes them."""

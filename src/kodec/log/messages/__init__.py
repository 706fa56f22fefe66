"""Messages that Kafka stores in its own topics: which one a record holds, and its names and values."""

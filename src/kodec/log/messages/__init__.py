"""Messages that Kafka stores in its own topics: identification, names and values."""

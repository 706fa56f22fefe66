"""From .ksy schemas to reader and writer modules; knows nothing of Kafka."""

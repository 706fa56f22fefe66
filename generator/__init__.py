"""From .ksy schemas to reader and writer modules; is independent of Kafka."""

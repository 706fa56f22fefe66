meta:
  id: window_store_key
  title: Kafka Streams key in the changelog of a window store
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Key in the changelog of a window store: the key, the time, and a number that
  tells values of the same key and time apart.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/state/internals/WindowKeySchema.java WindowKeySchema.toStoreKeyBinary
seq:
  - id: key
    size: _io.size - 12
    doc: The key, in the format of its own serializer.
  - id: start
    type: s8
    doc: |
      Start of the window, in milliseconds since 1970-01-01 UTC. In the store of
      a join of streams, the timestamp of the record.
  - id: sequence
    type: s4
    doc: |
      Number of the value in a store that keeps duplicates, 0 in other stores.

meta:
  id: windowed_key
  title: Kafka Streams windowed key
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Key of a time window, as `TimeWindowedSerializer` writes it: the key, then the
  start of the window. The length of the window is not stored.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/state/internals/WindowKeySchema.java WindowKeySchema.toBinary
seq:
  - id: key
    size: _io.size - 8
    doc: The key, in the format of its own serializer.
  - id: start
    type: s8
    doc: Start of the window, in milliseconds since 1970-01-01 UTC.

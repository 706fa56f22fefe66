meta:
  id: join_key
  title: Kafka Streams key of the store of an outer join
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Key in the changelog of the store in which a left or outer join of streams
  keeps records that have not been joined.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/state/internals/TimestampedKeyAndJoinSideSerializer.java TimestampedKeyAndJoinSideSerializer
seq:
  - id: timestamp
    type: s8
    doc: Timestamp of the record, in milliseconds since 1970-01-01 UTC.
  - id: is_left
    type: u1
    valid:
      max: 1
    doc: 1 if the record is of the left stream.
  - id: key
    size-eos: true
    doc: The key, in the format of its own serializer.

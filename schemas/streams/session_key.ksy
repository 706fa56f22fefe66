meta:
  id: session_key
  title: Kafka Streams session key
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Key of a session window, as `SessionWindowedSerializer` and the changelogs of
  session stores have it.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/state/internals/SessionKeySchema.java SessionKeySchema.toBinary
seq:
  - id: key
    size: _io.size - 16
    doc: The key, in the format of its own serializer.
  - id: end
    type: s8
    doc: |
      Timestamp of the last record of the session, in milliseconds since
      1970-01-01 UTC. It belongs to the session.
  - id: start
    type: s8
    doc: Timestamp of the first record of the session.

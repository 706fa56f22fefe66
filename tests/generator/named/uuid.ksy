meta:
  id: uuid
  title: Kafka UUID
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
-primitive: uuid
doc: |
  A UUID as 16 bytes, most significant byte first. All zeros means "no value".
  As text, Kafka writes topic and directory IDs in URL-safe base64 without
  padding (22 characters).
doc-ref: https://kafka.apache.org/protocol.html#protocol_types UUID
seq:
  - id: value
    size: 16
    doc: The 16 bytes, big-endian. Never null.

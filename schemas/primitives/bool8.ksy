meta:
  id: bool8
  title: Kafka BOOLEAN
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
-wire: bool8
doc: |
  A boolean as one byte: 0 is false. Any other value reads as true; 1 is
  written.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types BOOLEAN
seq:
  - id: stored
    type: u1
    doc: The byte as it is stored.
instances:
  value:
    value: stored != 0
    doc: Whether it is true.

meta:
  id: bool8
  title: Kafka BOOLEAN
  license: Apache-2.0
-primitive: bool8
doc: |
  A boolean in one byte: 0 is false, any other value is true. True is written as
  1.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types BOOLEAN
seq:
  - id: stored
    type: u1
    doc: The stored byte.
instances:
  value:
    value: stored != 0
    doc: The boolean.

meta:
  id: nullable_count
  title: Kafka NULLABLE_ARRAY and COMPACT_NULLABLE_ARRAY, number of elements
  license: Apache-2.0
  imports:
    - unsigned_varint
  endian: be
-unwrap: value
doc: |
  Number of elements of a list, or that it is null. Message versions before the
  first flexible version have it as a 32-bit integer: any negative number means
  null, which is written as -1. Flexible versions have it plus one, as an
  unsigned varint: 0 means null.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types COMPACT_NULLABLE_ARRAY
params:
  - id: is_compact
    type: bool
    doc: Whether the message version is flexible.
seq:
  - id: classic
    type: s4
    if: not is_compact
    doc: Number of elements. Any negative number means null.
  - id: plus_one
    type: unsigned_varint
    if: is_compact
    doc: Number of elements, plus one. 0 means null.
instances:
  value:
    value: |
      (is_compact
      ? (plus_one.value - (1).as<s8>).as<s4> : classic.as<s4>).as<s4>
    doc: Number of elements, in either form; -1 means null.

meta:
  id: nullable_blob
  title: Kafka NULLABLE_BYTES and COMPACT_NULLABLE_BYTES
  license: Apache-2.0
  imports:
    - unsigned_varint
  endian: be
-unwrap: value
doc: |
  Bytes or null, after their length. Message versions before the first flexible
  version have the length as a 32-bit integer: any negative length means null,
  which is written as -1. Flexible versions have the length plus one as an
  unsigned varint: 0 means null.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types COMPACT_NULLABLE_BYTES
params:
  - id: is_compact
    type: bool
    doc: Whether the message version is flexible.
seq:
  - id: len_plus_one
    type: unsigned_varint
    if: is_compact
    doc: Length of `value` in bytes, plus one. 0 means null.
  - id: len_classic
    type: s4
    if: not is_compact
    doc: Length of `value` in bytes. Any negative length means null.
  - id: value
    size: len_value
    if: len_value >= 0
    -nullable: true
    doc: The bytes, or null. Null and empty differ.
instances:
  len_value:
    value: |
      (is_compact
      ? (len_plus_one.value - (1).as<s8>).as<s4> : len_classic.as<s4>).as<s4>
    doc: Length of `value` in bytes, in either form; -1 means null.

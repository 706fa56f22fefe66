meta:
  id: blob
  title: Kafka BYTES and COMPACT_BYTES
  license: Apache-2.0
  imports:
    - unsigned_varint
  endian: be
-unwrap: value
doc: |
  Bytes that cannot be null, after their length. Message versions before the
  first flexible version have the length as a 32-bit integer; flexible versions
  have the length plus one as an unsigned varint.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types COMPACT_BYTES
params:
  - id: is_compact
    type: bool
    doc: Whether the message version is flexible.
seq:
  - id: len_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    if: is_compact
    doc: Length of `value` in bytes, plus one. 0 would mean null.
  - id: len_classic
    type: s4
    valid:
      min: 0
    if: not is_compact
    doc: Length of `value` in bytes. A negative length would mean null.
  - id: value
    size: len_value
    doc: The bytes. May be empty, never null.
instances:
  len_value:
    value: |
      (is_compact
      ? (len_plus_one.value - (1).as<s8>).as<s4> : len_classic.as<s4>).as<s4>
    doc: Length of `value` in bytes, in either form.

meta:
  id: count
  title: Kafka ARRAY and COMPACT_ARRAY, number of elements
  license: Apache-2.0
  imports:
    - unsigned_varint
  endian: be
-unwrap: value
doc: |
  Number of elements of a list that cannot be null. Message versions before the
  first flexible version have it as a 32-bit integer; flexible versions have it
  plus one, as an unsigned varint.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types COMPACT_ARRAY
params:
  - id: is_compact
    type: bool
    doc: Whether the message version is flexible.
seq:
  - id: classic
    type: s4
    valid:
      min: 0
    if: not is_compact
    doc: Number of elements. A negative number would mean null.
  - id: plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    if: is_compact
    doc: Number of elements, plus one. 0 would mean null.
instances:
  value:
    value: |
      (is_compact
      ? (plus_one.value - (1).as<s8>).as<s4> : classic.as<s4>).as<s4>
    doc: Number of elements, in either form.

meta:
  id: varint
  title: Kafka VARINT, zigzag base-128 signed 32-bit integer
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
-primitive: zigzag32
doc: |
  Signed 32-bit integer, zigzag-encoded, in 1 to 5 groups of 7 bits, least
  significant group first. The high bit of a byte means that another group
  follows.

  Encodings that are longer than necessary are valid (`80 00` is 0). Only the
  low 4 bits of a fifth group are used. Kafka rejects a fifth group whose high
  bit is set; this schema ends the number after the fifth group in any case.

  The lowest bit of the first group is the sign; the other 31 bits are the
  magnitude. Computing both with `*`, `+`, `%` and `/` instead of shifts and
  masks keeps every intermediate value within a signed 32-bit integer, so the
  expressions are correct in all target languages.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types VARINT
seq:
  - id: groups
    type: u1
    repeat: until
    # not `_index`: targets disagree on its value in `repeat-until`
    repeat-until: _ < 0x80 or groups.size == 5
    doc: |
      The encoded bytes, 7 bits each, least significant first. At most 5.
instances:
  is_negative:
    value: groups[0] % 2 == 1
    doc: Whether the value is negative.
  magnitude:
    value: |
      ((groups[0] % 128 / 2).as<s4>
      + (groups.size > 1
        ? ((groups[1] % 128).as<s4> * 0x40).as<s4> : (0).as<s4>)
      + (groups.size > 2
        ? ((groups[2] % 128).as<s4> * 0x2000).as<s4> : (0).as<s4>)
      + (groups.size > 3
        ? ((groups[3] % 128).as<s4> * 0x10_0000).as<s4> : (0).as<s4>)
      + (groups.size > 4
        ? ((groups[4] % 16).as<s4> * 0x800_0000).as<s4> : (0).as<s4>)).as<s4>
    doc: The value, or -1 minus the value if it is negative.
  value:
    value: |
      (is_negative ? ((-1).as<s4> - magnitude).as<s4> : magnitude).as<s4>
    doc: The decoded integer, -2147483648 to 2147483647.

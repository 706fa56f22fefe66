meta:
  id: varlong
  title: Kafka VARLONG, zigzag base-128 signed 64-bit integer
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
-primitive: zigzag64
doc: |
  Signed 64-bit integer, zigzag-encoded, in 1 to 10 groups of 7 bits, least
  significant group first. The high bit of a byte means that another group
  follows.

  Encodings that are longer than necessary are valid (`80 00` is 0). Only the
  lowest bit of a tenth group is used. Kafka rejects a tenth group whose high
  bit is set; this schema ends the number after the tenth group in any case.

  As in `varint`, the sign and the 63-bit magnitude are computed separately, so
  every intermediate value is within the signed 64-bit range. The magnitude is
  the sum of three parts that fit 32 bits, because ksc computes integers with 32
  bits unless they are cast. JavaScript is exact up to magnitudes of 2^53.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types VARLONG
seq:
  - id: groups
    type: u1
    repeat: until
    # not `_index`: targets disagree on its value in `repeat-until`
    repeat-until: _ < 0x80 or groups.size == 10
    doc: |
      The encoded bytes, 7 bits each, least significant first. At most 10.
instances:
  is_negative:
    value: groups[0] % 2 == 1
    doc: Whether the value is negative.
  low:
    value: |
      ((groups[0] % 128 / 2).as<s4>
      + (groups.size > 1
        ? ((groups[1] % 128).as<s4> * 0x40).as<s4> : (0).as<s4>)
      + (groups.size > 2
        ? ((groups[2] % 128).as<s4> * 0x2000).as<s4> : (0).as<s4>)
      + (groups.size > 3
        ? ((groups[3] % 128).as<s4> * 0x10_0000).as<s4> : (0).as<s4>)).as<s4>
    doc: Bits 0 to 26 of the magnitude.
  mid:
    value: |
      ((groups.size > 4 ? (groups[4] % 128).as<s4> : (0).as<s4>)
      + (groups.size > 5
        ? ((groups[5] % 128).as<s4> * 0x80).as<s4> : (0).as<s4>)
      + (groups.size > 6
        ? ((groups[6] % 128).as<s4> * 0x4000).as<s4> : (0).as<s4>)
      + (groups.size > 7
        ? ((groups[7] % 128).as<s4> * 0x20_0000).as<s4> : (0).as<s4>)).as<s4>
    doc: Bits 27 to 54 of the magnitude.
  high:
    value: |
      ((groups.size > 8 ? (groups[8] % 128).as<s4> : (0).as<s4>)
      + (groups.size > 9
        ? ((groups[9] % 2).as<s4> * 0x80).as<s4> : (0).as<s4>)).as<s4>
    doc: Bits 55 to 62 of the magnitude.
  magnitude:
    value: |
      (low.as<s8>
      + ((mid.as<s8> * (0x800_0000).as<s8>).as<s8>
      + (high.as<s8> * (0x80_0000_0000_0000).as<s8>).as<s8>).as<s8>).as<s8>
    doc: The value, or -1 minus the value if it is negative.
  value:
    value: |
      (is_negative ? ((-1).as<s8> - magnitude).as<s8> : magnitude).as<s8>
    doc: The decoded integer, -9223372036854775808 to 9223372036854775807.

meta:
  id: unsigned_varint
  title: Kafka UNSIGNED_VARINT, base-128 unsigned 32-bit integer
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
-wire: uvarint32
doc: |
  Unsigned 32-bit integer in 1 to 5 groups of 7 bits with the least significant
  group first. The high bit of a group says that another one follows.

  Longer encodings than needed are legal (`80 00` is 0), and of a fifth group
  only the low 4 bits count. Kafka refuses a fifth group with its high bit set;
  this description stops after it all the same.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types UNSIGNED_VARINT
seq:
  - id: groups
    type: u1
    repeat: until
    # not `_index`: targets disagree on its value in `repeat-until`
    repeat-until: _ < 0x80 or groups.size == 5
    doc: |
      The encoded bytes, 7 bits each, least significant first. At most 5.
instances:
  low:
    value: |
      ((groups[0] % 128).as<s4>
      + (groups.size > 1
        ? ((groups[1] % 128).as<s4> * 0x80).as<s4> : (0).as<s4>)
      + (groups.size > 2
        ? ((groups[2] % 128).as<s4> * 0x4000).as<s4> : (0).as<s4>)
      + (groups.size > 3
        ? ((groups[3] % 128).as<s4> * 0x20_0000).as<s4> : (0).as<s4>)).as<s4>
    doc: Bits 0 to 27 of the value.
  high:
    value: |
      (groups.size > 4 ? (groups[4] % 16).as<s4> : (0).as<s4>).as<s4>
    doc: Bits 28 to 31 of the value.
  value:
    value: |
      (low.as<s8> + (high.as<s8> * (0x1000_0000).as<s8>).as<s8>).as<s8>
    doc: The decoded integer, 0 to 4294967295.

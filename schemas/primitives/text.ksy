meta:
  id: text
  title: Kafka STRING and COMPACT_STRING
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - unsigned_varint
  encoding: UTF-8
  endian: be
-wire: string
doc: |
  A string that cannot be null, in one of two forms. Message versions before
  the first flexible one put the number of bytes in front as a 16-bit integer;
  flexible versions put the number of bytes plus one as an unsigned varint.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types COMPACT_STRING
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
    -derive: length_of(value) + 1
    doc: Length of `value` in bytes, plus one. 0 would be null.
  - id: len_classic
    type: s2
    valid:
      min: 0
    if: not is_compact
    -derive: length_of(value)
    doc: Length of `value` in bytes. A negative length would be null.
  - id: value
    size: len_value
    type: str
    doc: The text. May be empty, never null.
instances:
  len_value:
    value: |
      (is_compact
      ? (len_plus_one.value - (1).as<s8>).as<s4> : len_classic.as<s4>).as<s4>
    doc: Length of `value` in bytes, whichever form it came in.

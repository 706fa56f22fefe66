meta:
  id: change
  title: Kafka Streams change of a table's row
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Value in the repartition topic of a table that is grouped by another key: the
  new and the old value of a row, and a flag at the end for which of them
  are present.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/kstream/internals/ChangedDeserializer.java ChangedDeserializer
seq:
  - id: len_new
    type: zigzag
    if: has_new and has_old
    doc: Length of `new_value`.
  - id: new_value
    size: 'has_old ? len_new.value : _io.size - len_trailer'
    if: has_new
    doc: The new value; absent if the row was removed.
  - id: old_value
    size: _io.size - _io.pos - len_trailer
    if: has_old
    doc: The old value; absent if there was no row.
  - id: is_latest_flag
    type: u1
    valid:
      any-of: [0, 1]
    if: flag >= 3
    doc: 1 if no newer change of the row was known when this one was written.
  - id: encoding_flag
    type: u1
    valid:
      max: 5
    doc: |
      0 is an old value alone, 1 a new value alone, 2 both; 3, 4 and 5 are the
      same with `is_latest_flag`.
instances:
  flag:
    pos: _io.size - 1
    type: u1
    doc: '`encoding_flag`, needed before the values are read.'
  has_new:
    value: flag % 3 != 0
    doc: Whether there is a new value.
  has_old:
    value: flag % 3 != 1
    doc: Whether there is an old value.
  len_trailer:
    value: 'flag >= 3 ? 2 : 1'
    doc: Bytes of the flags at the end.
types:
  zigzag:
    doc: A length as a zigzag varint. No length is negative.
    seq:
      - id: groups
        type: u1
        repeat: until
        repeat-until: _ < 128
        doc: Seven bits each, the lowest ones first.
    instances:
      value:
        value: |
          ((groups[0] & 127)
          + (groups.size > 1 ? (groups[1] & 127) << 7 : 0)
          + (groups.size > 2 ? (groups[2] & 127) << 14 : 0)
          + (groups.size > 3 ? (groups[3] & 127) << 21 : 0)
          + (groups.size > 4 ? (groups[4] & 15) << 28 : 0)) / 2
        doc: The length.

meta:
  id: join_values
  title: Kafka Streams values of the store of an outer join
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Value in the changelog of the store in which a left or outer join of streams
  keeps records that have not been joined: those of the same key, timestamp and
  side.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/state/internals/LeftOrRightValueSerializer.java LeftOrRightValueSerializer, ListSerializer
seq:
  - id: strategy
    type: u1
    valid: 1
    doc: Always 1, each element has its own length.
  - id: num_values
    type: s4
    valid:
      min: 0
    doc: Number of values.
  - id: values
    type: element
    repeat: expr
    repeat-expr: num_values
    doc: The values, the oldest first.
types:
  element:
    doc: A value after its length.
    seq:
      - id: len_value
        type: s4
        valid:
          min: 1
        doc: Length of the value.
      - id: value
        size: len_value
        type: side_value
        doc: The value.
  side_value:
    doc: A value of the left or the right stream.
    seq:
      - id: is_left
        type: u1
        valid:
          max: 1
        doc: 1 if the value is of the left stream.
      - id: value
        size-eos: true
        doc: The value, in the format of its own serializer.

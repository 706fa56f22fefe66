meta:
  id: subscription
  title: Kafka Streams subscription of a foreign-key join
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Value of the topics whose names end in `-subscription-registration-topic`, and
  in the changelog of the store of subscriptions: a row of the left table asks
  for a row of the right one.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/kstream/internals/foreignkeyjoin/SubscriptionWrapperSerde.java SubscriptionWrapperSerde
seq:
  - id: is_hash_null
    type: b1
    doc: Whether `hash` is absent.
  - id: version
    type: b7
    valid:
      max: 1
    doc: Version of the value.
  - id: instruction
    type: u1
    enum: instruction
    -valid:
      max: 3
    doc: What is to be done.
  - id: hash
    size: 16
    if: not is_hash_null
    doc: Murmur3 hash of the value of the left row.
  - id: primary_key
    size: '_io.size - _io.pos - (version > 0 ? 4 : 0)'
    doc: Key of the left row, in the format of its own serializer.
  - id: primary_partition
    type: s4
    if: version > 0
    doc: Partition of the left row.
enums:
  instruction:
    0:
      id: delete_key_no_propagate
      doc: Delete the subscription.
    1:
      id: delete_key_and_propagate
      doc: Delete the subscription, and answer.
    2:
      id: propagate_null_if_no_fk_val_available
      doc: Answer, with null if there is no right row (left join).
    3:
      id: propagate_only_if_fk_val_available
      doc: Answer if there is a right row (inner join).

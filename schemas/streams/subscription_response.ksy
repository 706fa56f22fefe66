meta:
  id: subscription_response
  title: Kafka Streams answer of a foreign-key join
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Value of the topics whose names end in `-subscription-response-topic`: the
  right row for a row of the left table, whose key is the key of the record.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/kstream/internals/foreignkeyjoin/SubscriptionResponseWrapperSerde.java SubscriptionResponseWrapperSerde
seq:
  - id: is_hash_null
    type: b1
    doc: Whether `hash` is absent.
  - id: version
    type: b7
    valid: 0
    doc: Version of the value.
  - id: hash
    size: 16
    if: not is_hash_null
    doc: Murmur3 hash of the value of the left row that asked.
  - id: foreign_value
    size-eos: true
    doc: |
      Value of the right row, in the format of its own serializer. Empty if
      there is none.

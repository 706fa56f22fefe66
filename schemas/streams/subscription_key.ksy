meta:
  id: subscription_key
  title: Kafka Streams key of the store of subscriptions
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Key in the changelog of the store of a foreign-key join's subscriptions.
doc-ref: https://github.com/apache/kafka/blob/4.3.1/streams/src/main/java/org/apache/kafka/streams/kstream/internals/foreignkeyjoin/CombinedKeySchema.java CombinedKeySchema
seq:
  - id: len_foreign_key
    type: s4
    valid:
      min: 0
    doc: Length of `foreign_key`.
  - id: foreign_key
    size: len_foreign_key
    doc: Key of the right row, in the format of its own serializer.
  - id: primary_key
    size-eos: true
    doc: Key of the left row, in the format of its own serializer.

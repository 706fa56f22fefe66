meta:
  id: transaction_log_key
  title: Kafka TransactionLogKey (key in __transaction_state)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/text
  endian: be
-orig-id: TransactionLogKey
-topic: __transaction_state
-message:
  kind: coordinator-key
  number: 0
doc: >-
  Key of the state of a transactional id. A null value means that the id has
  expired: it was unused for `transactional.id.expiration.ms`.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogKey.json TransactionLogKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 0
    doc: Record type, which determines the schemas of the key and the value.
  - id: transactional_id
    -orig-id: TransactionalId
    type: text(false)
    doc: '`transactional.id` of the producer.'

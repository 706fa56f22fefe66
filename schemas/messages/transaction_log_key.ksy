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
  Kafka's TransactionLogKey: key in __transaction_state, number 0 of its kind.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogKey.json TransactionLogKey
seq:
  - id: record_type
    type: s2
    valid:
      eq: 0
    doc: Number of the record's type, which says what the key and the value are.
  - id: transactional_id
    -orig-id: TransactionalId
    type: text(false)
    doc: A string.

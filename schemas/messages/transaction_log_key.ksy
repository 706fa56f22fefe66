meta:
  id: transaction_log_key
  title: Kafka TransactionLogKey (key in __transaction_state)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 0, topic: __transaction_state}
doc: >-
  Key of the state of a transactional id. A null value means that the id has
  expired: it was unused for `transactional.id.expiration.ms`.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogKey.json TransactionLogKey
seq:
  - id: record_type
    type: s2
    valid: 0
    doc: Record type, which determines the schemas of the key and the value.
  - id: transactional_id
    type: text(false)
    doc: '`transactional.id` of the producer.'

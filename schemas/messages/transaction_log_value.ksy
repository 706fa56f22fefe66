meta:
  id: transaction_log_value
  title: Kafka TransactionLogValue (value in __transaction_state)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/int64_value
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 0
  topic: __transaction_state
  flexible: 1+
doc: >-
  State of a transactional id: its producer id, and its current transaction.
  Kafka writes version 0, or version 1 if the feature `transaction.version` is 1
  or higher.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 1}}
  - id: producer_id
    type: s8
    doc: Current producer id of the transactional id.
  - id: producer_epoch
    type: s2
    doc: Epoch of `producer_id`. Producers with a lower epoch are fenced.
  - id: transaction_timeout_ms
    type: s4
    doc: >-
      The coordinator aborts a transaction that is open for longer than this
      time, in milliseconds; 2147483647 means no limit (two-phase commit,
      KIP-939).
  - id: transaction_status
    type: s1
    doc: >-
      State: 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete
      commit, 5 complete abort. Kafka never stores 6 (dead) and 7 (prepare epoch
      fence).
  - id: num_transaction_partitions
    type: s4
    if: version <= 0
    doc: >-
      Number of elements of `transaction_partitions`. Any negative number means
      null.
  - id: num_transaction_partitions_plus_one
    type: unsigned_varint
    if: version >= 1
    doc: Number of elements of `transaction_partitions`, plus one. 0 means null.
  - id: transaction_partitions
    type: partitions_schema(version)
    repeat: expr
    repeat-expr: >-
      (version >= 1 ? (num_transaction_partitions_plus_one.value -
      (1).as<s8>).as<s4> : num_transaction_partitions.as<s4>).as<s4>
    if: >-
      (version >= 1 ? (num_transaction_partitions_plus_one.value -
      (1).as<s8>).as<s4> : num_transaction_partitions.as<s4>).as<s4> >= 0
    -default: empty
    -nullable: true
    doc: >-
      Partitions that the transaction has written to, including those of
      `__consumer_offsets` with its offsets. Null in state 0; empty once all
      markers are written.
  - id: transaction_last_update_timestamp_ms
    type: s8
    doc: >-
      Time of the last change of this state, in milliseconds since 1970-01-01
      UTC. The expiration of the transactional id is counted from this time.
  - id: transaction_start_timestamp_ms
    type: s8
    doc: >-
      Time at which the first partition was added to the transaction, in
      milliseconds since 1970-01-01 UTC; -1 if no transaction was started.
  - {id: tagged_fields, type: message_tags, if: version >= 1}
types:
  partitions_schema:
    -versions: 0-1
    doc: Partitions of one topic.
    params:
      - {id: version, type: s2}
    seq:
      - id: topic
        type: text(version >= 1)
        doc: Name of the topic.
      - {id: num_partition_ids, type: count(version >= 1)}
      - id: partition_ids
        type: s4
        repeat: expr
        repeat-expr: num_partition_ids.value
        doc: Numbers of the partitions.
      - {id: tagged_fields, type: tagged_fields, if: version >= 1}
  int16_value:
    -unwrap: value
    doc: 'Value of a tagged field: one number.'
    seq:
      - id: value
        type: s2
        doc: The number.
  message_tags:
    doc: Optional fields, known and unknown.
    seq:
      - {id: num_fields, type: unsigned_varint}
      - id: fields
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
  message_tag:
    seq:
      - {id: tag, type: unsigned_varint}
      - {id: len_body, type: unsigned_varint}
      - id: body
        size: len_body.value
        type:
          switch-on: tag.value.as<s4>
          cases:
            0: int64_value
            1: int64_value
            2: int16_value
            3: int16_value
        -tags:
          0:
            id: previous_producer_id
            -default: -1
            doc: >-
              Producer id of the previous state, which differs from
              `producer_id` if this record changes it; -1 means none.
          1:
            id: next_producer_id
            -default: -1
            doc: >-
              Producer id that the producer will use next, if the epochs of
              `producer_id` are exhausted; -1 means none.
          2:
            id: client_transaction_version
            doc: >-
              Level of `transaction.version` that the producer uses. From level
              2, each transaction has its own epoch (KIP-890).
          3:
            id: next_producer_epoch
            -default: -1
            doc: >-
              Epoch of `next_producer_id`; -1 means none. Kafka 4.4 neither
              writes nor reads it.

meta:
  id: transaction_log_value
  title: Kafka TransactionLogValue (value in __transaction_state)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-orig-id: TransactionLogValue
-versions: 0-1
-flexible: 1+
-topic: __transaction_state
-message:
  kind: coordinator-value
  number: 0
doc: >-
  State of a transactional id: its producer id, and its current transaction.
  Kafka writes version 0, or version 1 if the feature `transaction.version` is 1
  or higher.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/transaction-coordinator/src/main/resources/common/message/TransactionLogValue.json TransactionLogValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 1
    doc: Version of the message.
  - id: producer_id
    -orig-id: ProducerId
    type: s8
    doc: Current producer id of the transactional id.
  - id: producer_epoch
    -orig-id: ProducerEpoch
    type: s2
    doc: Epoch of `producer_id`. Producers with a lower epoch are fenced.
  - id: transaction_timeout_ms
    -orig-id: TransactionTimeoutMs
    type: s4
    doc: >-
      The coordinator aborts a transaction that is open for longer than this
      time, in milliseconds; 2147483647 means no limit (two-phase commit,
      KIP-939).
  - id: transaction_status
    -orig-id: TransactionStatus
    type: s1
    doc: >-
      State: 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete
      commit, 5 complete abort. Kafka never stores 6 (dead) and 7 (prepare epoch
      fence).
  - id: num_transaction_partitions
    type: s4
    if: version <= 0
    -until: 0
    -derive: count_of(transaction_partitions)
    doc: >-
      Number of elements of `transaction_partitions`. Any negative number means
      null.
  - id: num_transaction_partitions_plus_one
    type: unsigned_varint
    if: version >= 1
    -since: 1
    -derive: count_of(transaction_partitions) + 1
    doc: Number of elements of `transaction_partitions`, plus one. 0 means null.
  - id: transaction_partitions
    -orig-id: TransactionPartitions
    type: partitions_schema(version)
    repeat: expr
    repeat-expr: >-
      (version >= 1 ? (num_transaction_partitions_plus_one.value -
      (1).as<s8>).as<s4> : num_transaction_partitions.as<s4>).as<s4>
    if: >-
      (version >= 1 ? (num_transaction_partitions_plus_one.value -
      (1).as<s8>).as<s4> : num_transaction_partitions.as<s4>).as<s4> >= 0
    -default: empty
    -nullable: >-
      (version >= 1 ? (num_transaction_partitions_plus_one.value -
      (1).as<s8>).as<s4> : num_transaction_partitions.as<s4>).as<s4> == -1
    doc: >-
      Partitions that the transaction has written to, including those of
      `__consumer_offsets` with its offsets. Null in state 0; empty once all
      markers are written.
  - id: transaction_last_update_timestamp_ms
    -orig-id: TransactionLastUpdateTimestampMs
    type: s8
    doc: >-
      Time of the last change of this state, in milliseconds since 1970-01-01
      UTC. The expiration of the transactional id is counted from this time.
  - id: transaction_start_timestamp_ms
    -orig-id: TransactionStartTimestampMs
    type: s8
    doc: >-
      Time at which the first partition was added to the transaction, in
      milliseconds since 1970-01-01 UTC; -1 if no transaction was started.
  - id: tagged_fields
    type: message_tags
    if: version >= 1
    -since: 1
    doc: Optional fields, known and unknown.
types:
  partitions_schema:
    -orig-id: PartitionsSchema
    -versions: 0-1
    doc: Partitions of one topic.
    params:
      - id: version
        type: s2
        doc: Version of the message.
    seq:
      - id: topic
        -orig-id: Topic
        type: text(version >= 1)
        doc: Name of the topic.
      - id: num_partition_ids
        type: s4
        valid:
          min: 0
        if: version <= 0
        -until: 0
        -derive: count_of(partition_ids)
        doc: Number of elements of `partition_ids`.
      - id: num_partition_ids_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        if: version >= 1
        -since: 1
        -derive: count_of(partition_ids) + 1
        doc: Number of elements of `partition_ids`, plus one.
      - id: partition_ids
        -orig-id: PartitionIds
        type: s4
        repeat: expr
        repeat-expr: >-
          (version >= 1 ? (num_partition_ids_plus_one.value - (1).as<s8>).as<s4>
          : num_partition_ids.as<s4>).as<s4>
        doc: Numbers of the partitions.
      - id: tagged_fields
        type: tagged_fields
        if: version >= 1
        -since: 1
        doc: Optional fields. None is defined; unknown ones are kept.
  int64_value:
    -wire: value
    doc: 'Value of a tagged field: one number.'
    seq:
      - id: value
        type: s8
        doc: The number.
  int16_value:
    -wire: value
    doc: 'Value of a tagged field: one number.'
    seq:
      - id: value
        type: s2
        doc: The number.
  message_tags:
    -wire: tags
    doc: The tagged-field section.
    seq:
      - id: num_fields
        type: unsigned_varint
        -derive: count_of(fields)
        doc: Number of tagged fields that follow.
      - id: fields
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
        doc: The tagged fields, in ascending order of their tags.
  message_tag:
    doc: One optional field.
    seq:
      - id: tag
        type: unsigned_varint
        doc: Number of the field, unique within its section.
      - id: len_body
        type: unsigned_varint
        -derive: length_of(body)
        doc: Length of `body`, in bytes.
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
            -orig-id: PreviousProducerId
            -default: -1
            doc: >-
              Producer id of the previous state, which differs from
              `producer_id` if this record changes it; -1 means none.
          1:
            id: next_producer_id
            -orig-id: NextProducerId
            -default: -1
            doc: >-
              Producer id that the producer will use next, if the epochs of
              `producer_id` are exhausted; -1 means none.
          2:
            id: client_transaction_version
            -orig-id: ClientTransactionVersion
            doc: >-
              Level of `transaction.version` that the producer uses. From level
              2, each transaction has its own epoch (KIP-890).
          3:
            id: next_producer_epoch
            -orig-id: NextProducerEpoch
            -default: -1
            doc: >-
              Epoch of `next_producer_id`; -1 means none. Kafka 4.4 neither
              writes nor reads it.
        doc: The field's value. The values of unknown tags are kept as bytes.

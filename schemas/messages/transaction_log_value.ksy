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
  State of a transactional id: its producer id, and the transaction that it is
  in. Kafka writes version 0, or version 1 where the feature
  `transaction.version` is 1 or more.
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
    doc: Producer id that the transactional id has now.
  - id: producer_epoch
    -orig-id: ProducerEpoch
    type: s2
    doc: Epoch of `producer_id`. Producers with a lower one are fenced.
  - id: transaction_timeout_ms
    -orig-id: TransactionTimeoutMs
    type: s4
    doc: >-
      A transaction that is open for longer than this, in milliseconds, is
      aborted by the coordinator; 2147483647 is no limit (two-phase commit,
      KIP-939).
  - id: transaction_status
    -orig-id: TransactionStatus
    type: s1
    doc: >-
      State: 0 empty, 1 ongoing, 2 prepare commit, 3 prepare abort, 4 complete
      commit, 5 complete abort. Kafka has 6 (dead) and 7 (prepare epoch fence)
      in memory only.
  - id: num_transaction_partitions
    type: s4
    if: version <= 0
    -until: 0
    -derive: count_of(transaction_partitions)
    doc: >-
      Number of elements of `transaction_partitions`. Any negative number is
      null.
  - id: num_transaction_partitions_plus_one
    type: unsigned_varint
    if: version >= 1
    -since: 1
    -derive: count_of(transaction_partitions) + 1
    doc: Number of elements of `transaction_partitions`, plus one. 0 is null.
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
      Partitions that the transaction has written to, and those of
      `__consumer_offsets` that its offsets are in. Null in state 0, without
      elements once markers are written everywhere.
  - id: transaction_last_update_timestamp_ms
    -orig-id: TransactionLastUpdateTimestampMs
    type: s8
    doc: >-
      Time of the last change of this state, in milliseconds since 1970-01-01
      UTC. The transactional id expires counted from here.
  - id: transaction_start_timestamp_ms
    -orig-id: TransactionStartTimestampMs
    type: s8
    doc: >-
      When the transaction got its first partition, in milliseconds since
      1970-01-01 UTC; -1 where none was begun.
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
              Producer id in the state before this one: another than
              `producer_id` where this record changes it; -1 is none.
          1:
            id: next_producer_id
            -orig-id: NextProducerId
            -default: -1
            doc: >-
              Producer id that the producer is to go on with, where the epochs
              of `producer_id` have run out; -1 is none.
          2:
            id: client_transaction_version
            -orig-id: ClientTransactionVersion
            doc: >-
              Level of `transaction.version` that the producer follows; at 2
              each transaction has an epoch of its own (KIP-890).
          3:
            id: next_producer_epoch
            -orig-id: NextProducerEpoch
            -default: -1
            doc: >-
              Epoch that goes with `next_producer_id`; -1 is none. Kafka 4.4
              neither writes nor reads it.
        doc: >-
          The field's value. A tag that is not known here gives bytes, which are
          kept.

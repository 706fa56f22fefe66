meta:
  id: redpanda_batch
  title: Redpanda record batch
  application: Redpanda
  file-extension: log
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../log/record_batch
  endian: le
  bit-endian: be
doc: |
  A batch in a segment of Redpanda: a header of 61 bytes in little-endian order,
  then the records of Kafka's record batch of magic 2, compressed as there. The
  segment is named `<base offset>-<term>-v1.log` and has no file header. It may
  end with zeros, which were allocated before they are written.

  The header has the fields of Kafka's, without the magic and the leader epoch,
  which is the term in the segment's name. Offsets are those of the Raft log.
  Kafka's offsets are lower, as they do not count the batches for which
  `takes_no_kafka_offset` holds.
doc-ref: >-
  https://github.com/redpanda-data/redpanda/blob/dev/src/v/model/record.h
  record_batch_header
-roles:
  offset: base_offset
  length: len_batch
  checksum: header_crc
  flags: attributes
  codec: attributes.compression
  timestamp_type: attributes.timestamp_type
  transactional: attributes.is_transactional
  control: attributes.is_control
  last_offset_delta: last_offset_delta
  base_timestamp: base_timestamp
  max_timestamp: max_timestamp
  producer_id: producer_id
  producer_epoch: producer_epoch
  base_sequence: base_sequence
  count: num_records
  records: records
seq:
  - id: header_crc
    type: u4
    -derive: crc32c(len_batch..num_records)
    doc: CRC-32C (Castagnoli) of the rest of the header, as stored.
  - id: len_batch
    -orig-id: size_bytes
    type: s4
    valid:
      min: 61
    -derive: length_of(base_offset..records) + 8
    doc: Length of the batch in bytes, with its header.
  - id: base_offset
    type: s8
    doc: Offset of the first record in the Raft log.
  - id: type
    type: s1
    enum: batch_type
    -default: raft_data
    doc: What wrote the batch, and for what.
  - id: body_crc
    -orig-id: crc
    type: u4
    doc: |
      The `crc` of Kafka's record batch: CRC-32C of the fields from `attributes`
      to `num_records` in big-endian order, and of the records as stored.
  - id: attributes
    size: 2
    type: attributes
    doc: Compression and flags.
  - id: last_offset_delta
    type: s4
    doc: Last offset of the batch, minus `base_offset`.
  - id: base_timestamp
    -orig-id: first_timestamp
    type: s8
    doc: |
      Milliseconds since 1970-01-01 UTC, to which the records' deltas are added.
  - id: max_timestamp
    type: s8
    doc: Largest timestamp of the records, in milliseconds since 1970-01-01 UTC.
  - id: producer_id
    type: s8
    -default: -1
    doc: Id of the idempotent or transactional producer; -1 means none.
  - id: producer_epoch
    type: s2
    -default: -1
    doc: Epoch of that producer; -1 means none.
  - id: base_sequence
    type: s4
    -default: -1
    doc: Sequence number of the first record; -1 means none.
  - id: num_records
    -orig-id: record_count
    type: s4
    valid:
      min: 0
    doc: Number of records in the batch.
  - id: records
    size: len_batch - 61
    doc: |
      The records, as Kafka's record batch stores them. Batches other than
      `raft_data` have records too, whose keys and values are those of their
      type.
instances:
  takes_no_kafka_offset:
    value: >-
      type == batch_type::raft_configuration
      or type == batch_type::archival_metadata
      or type == batch_type::version_fence
      or type == batch_type::prefix_truncate
      or type == batch_type::partition_properties_update
      or type == batch_type::datalake_translation_state
    doc: |
      Whether the offsets of the batch are not counted in Kafka's offsets, in
      topics of the namespace `kafka`. Batches of all other types take offsets
      there too, although clients receive only `raft_data`.
types:
  attributes:
    doc: Kafka's attributes, with the low byte first.
    seq:
      - id: unused
        type: b1
        -default: false
        doc: Not used.
      - id: has_delete_horizon
        type: b1
        -default: false
        doc: Kafka's flag for a delete horizon.
      - id: is_control
        type: b1
        -default: false
        doc: If set, the records are control records.
      - id: is_transactional
        type: b1
        -default: false
        doc: If set, the batch is part of a transaction.
      - id: timestamp_type
        type: b1
        enum: record_batch::timestamp_type
        -default: create_time
        doc: Origin of the records' timestamps.
      - id: compression
        type: b3
        enum: record_batch::compression
        -default: none
        doc: Compression of the records.
      - id: reserved
        type: b8
        -default: 0
        doc: Not used.
enums:
  batch_type:
    1:
      id: raft_data
      doc: Records of clients, and the markers of their transactions.
    2:
      id: raft_configuration
      doc: The voters of the Raft group.
    3:
      id: controller
      doc: Commands of the controller.
    4:
      id: kvstore
      doc: Entries of a core's local key-value store.
    5:
      id: checkpoint
      doc: Written to make a read linearizable.
    6:
      id: topic_management_cmd
      doc: The controller's commands about topics.
    7:
      id: ghost_batch
      doc: Fills a gap that compaction has left, when a replica recovers.
    8:
      id: id_allocator
      doc: Ranges of producer ids.
    9:
      id: tx_prepare
      doc: A prepared transaction, in earlier versions.
    10:
      id: tx_fence
      doc: The start of a transaction, or a fenced producer.
    11:
      id: tm_update
      doc: State of the transaction coordinator.
    12:
      id: user_management_cmd
      doc: The controller's commands about users.
    13:
      id: acl_management_cmd
      doc: The controller's commands about access rights.
    14:
      id: group_prepare_tx
      doc: Offsets that a transaction of a group has prepared.
    15:
      id: group_commit_tx
      doc: Commit of a group's transaction.
    16:
      id: group_abort_tx
      doc: Abort of a group's transaction.
    17:
      id: node_management_cmd
      doc: The controller's commands about nodes.
    18:
      id: data_policy_management_cmd
      doc: The controller's commands about data policies.
    19:
      id: archival_metadata
      doc: The state of tiered storage of a partition.
    20:
      id: cluster_config_cmd
      doc: Changes of the cluster's configuration.
    21:
      id: feature_update
      doc: The versions of nodes.
    22:
      id: cluster_bootstrap_cmd
      doc: The first command of a cluster.
    23:
      id: version_fence
      doc: Marks the version from which later batches can be read.
    24:
      id: tx_tm_hosted_transactions
      -orig-id: tx_tm_hosted_trasactions
      doc: Transactions that a coordinator hosts.
    25:
      id: prefix_truncate
      doc: A new start of the log, after records were deleted.
    26:
      id: plugin_update
      doc: Changes of data transforms.
    27:
      id: tx_registry
      doc: Transactions by the partitions of their coordinator.
    28:
      id: cluster_recovery_cmd
      doc: Recovery of a cluster from object storage.
    29:
      id: compaction_placeholder
      doc: |
        Takes the place of the last batch of a segment, which compaction has
        removed.
    30:
      id: role_management_cmd
      doc: The controller's commands about roles.
    31:
      id: client_quota
      doc: Quotas of clients.
    32:
      id: data_migration_cmd
      doc: Migrations of topics between clusters.
    33:
      id: group_fence_tx
      doc: The start of a group's transaction.
    34:
      id: partition_properties_update
      doc: Changes of a partition's properties.
    35:
      id: datalake_coordinator
      doc: State of the coordinator of Iceberg tables.
    36:
      id: dl_placeholder
      doc: Takes the place of records that are in object storage (cloud topics).
    37:
      id: dl_stm_command
      doc: State of a cloud topic.
    38:
      id: datalake_translation_state
      doc: Progress of the translation to Iceberg tables.

meta:
  id: record_batch
  title: Kafka record batch (magic 2)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - record
  endian: be
  bit-endian: be
-names:
  fields: camelCase
doc: |
  The message format of Apache Kafka 0.11 and later, on disk and on the wire: a
  header of 61 bytes, then the records. If `attributes.compression` is not
  `none`, the records are compressed together.

  The last offset of a batch is `base_offset + last_offset_delta`, even if
  compaction has removed the last records. The next batch starts after it.
doc-ref: https://kafka.apache.org/documentation/#recordbatch Record Batch
-roles:
  form: magic
  offset: base_offset
  length: len_batch
  leader_epoch: partition_leader_epoch
  checksum: crc
  flags: attributes
  codec: attributes.compression
  timestamp_type: attributes.timestamp_type
  transactional: attributes.is_transactional
  control: attributes.is_control
  delete_horizon: attributes.has_delete_horizon
  reserved: attributes.reserved
  last_offset_delta: last_offset_delta
  base_timestamp: base_timestamp
  max_timestamp: max_timestamp
  producer_id: producer_id
  producer_epoch: producer_epoch
  base_sequence: base_sequence
  count: num_records
  records: records
seq:
  - id: base_offset
    type: s8
    -default: 0
    doc: |
      Offset of the first record when the batch was written; compaction may have
      removed that record. Producers send 0, and the broker sets the offset, so
      the CRC does not cover it.
  - id: len_batch
    -orig-id: batchLength
    type: s4
    valid:
      min: 49
    -derive: length_of(partition_leader_epoch..records)
    doc: |
      Length of everything after this field, in bytes: the rest of the header
      (49) and the records. The whole batch is 12 bytes longer.
  - id: partition_leader_epoch
    type: s4
    -default: -1
    doc: |
      Epoch of the leader that appended the batch; -1 means unknown. Producers
      send -1, and the broker sets the epoch, so the CRC does not cover it.
  - id: magic
    type: s1
    valid: 2
    -default: 2
    doc: |
      Version of the message format. The older formats of `message_set` have it
      at the same place: byte 16.
  - id: crc
    type: u4
    -derive: crc32c(attributes..records)
    doc: |
      CRC-32C (Castagnoli) of everything after this field, as stored. If the
      records are compressed, it covers the compressed bytes.
  - id: attributes
    size: 2
    type: batch_attributes
    doc: Compression and flags.
  - id: last_offset_delta
    -orig-id: lastOffsetDelta
    type: s4
    -derive:
      value: last(records.offset_delta)
      verify: at_least
    doc: |
      Last offset of the batch, minus `base_offset`. Compaction keeps it when it
      removes the last records, so it can be larger than the last record's
      `offset_delta`; a batch without records keeps it too.
  - id: base_timestamp
    type: s8
    -default: -1
    doc: |
      Milliseconds since 1970-01-01 UTC, to which the records' deltas are added:
      the first record's timestamp, or the delete horizon if
      `attributes.has_delete_horizon` is set; -1 means none.
  - id: max_timestamp
    -orig-id: maxTimestamp
    type: s8
    -derive:
      value: max(records.timestamp_delta) + base_timestamp
      when: attributes.timestamp_type == timestamp_type::create_time
    doc: |
      Largest timestamp of the records, in milliseconds since 1970-01-01 UTC. If
      the type is `log_append_time`, it is the time of the append, which is then
      the timestamp of every record. -1 means none. A batch without records
      keeps it.
  - id: producer_id
    type: s8
    -default: -1
    doc: Id of the idempotent or transactional producer (KIP-98); -1 means none.
  - id: producer_epoch
    type: s2
    -default: -1
    doc: Epoch of that producer; -1 means none.
  - id: base_sequence
    type: s4
    -default: -1
    doc: |
      Sequence number of the first record of the batch; -1 means none, as in
      control batches. 0 follows 2147483647.
  - id: num_records
    -orig-id: recordsCount
    type: s4
    valid:
      min: 0
    -derive: count_of(records)
    doc: |
      Number of records in the batch. After compaction it can be less than
      `last_offset_delta + 1`, even 0.
  - id: records
    size: len_batch - 49
    type:
      switch-on: attributes.compression
      cases:
        'compression::none': record_list
    if: num_records != 0
    -codec: attributes.compression
    doc: |
      The records if the compression is `none`; otherwise compressed bytes,
      which after decompression are a `record_list`. Kafka does not read bytes
      after a header that counts 0 records.
types:
  batch_attributes:
    doc: |
      Flags of the whole batch. Kafka reads only the low byte, and drops the
      reserved bits when it rewrites a batch.
    seq:
      - id: reserved
        type: b9
        -default: 0
        doc: Not used.
      - id: has_delete_horizon
        -orig-id: hasDeleteHorizonMs
        type: b1
        -default: false
        doc: |
          If set, `base_timestamp` is the delete horizon of the batch (KIP-534):
          the time from which compaction may remove its tombstones and
          transaction markers. The records' deltas are relative to it and often
          negative.
      - id: is_control
        -orig-id: isControlBatch
        type: b1
        -default: false
        doc: |
          If set, the records are control records, which consumers do not return
          to applications. Their keys are of type `control_record_key`.
      - id: is_transactional
        type: b1
        -default: false
        doc: If set, the batch is part of a transaction.
      - id: timestamp_type
        type: b1
        enum: timestamp_type
        -default: create_time
        doc: Origin of the records' timestamps.
      - id: compression
        type: b3
        enum: compression
        -default: none
        doc: Compression of the records. 5 to 7 are not used.
  record_list:
    -unwrap: entries
    doc: The records of a batch after decompression.
    seq:
      - id: entries
        type: record
        repeat: eos
        doc: The records; the header's `num_records` counts them.
enums:
  compression:
    0:
      id: none
      doc: Not compressed.
    1:
      id: gzip
      doc: gzip (RFC 1952), one or more members.
    2:
      id: snappy
      doc: Snappy, as blocks in xerial's framing or as one raw block.
    3:
      id: lz4
      doc: One LZ4 frame of independent blocks.
    4:
      id: zstd
      doc: Zstandard (KIP-110), one or more frames.
  timestamp_type:
    0:
      id: create_time
      -orig-id: CreateTime
      doc: Set by the producer.
    1:
      id: log_append_time
      -orig-id: LogAppendTime
      doc: Set by the broker on append.

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
doc: |
  The message format of Apache Kafka 0.11 and later, on disk and on the wire: a
  header of 61 bytes, then records, which are compressed as one block when
  `attributes.compression` is not `none`.

  The last offset of a batch is `base_offset + last_offset_delta`, also where
  compaction has removed the last records; the next batch starts after it.
doc-ref: https://kafka.apache.org/documentation/#recordbatch Record Batch
seq:
  - id: base_offset
    -orig-id: baseOffset
    type: s8
    -default: 0
    doc: |
      Offset of the first record the batch was made with, which compaction may
      have removed since. Producers send 0 and the broker sets the real one:
      it is outside the CRC.
  - id: len_batch
    -orig-id: batchLength
    type: s4
    valid:
      min: 49
    -derive: length_of(partition_leader_epoch..records)
    doc: |
      Length of everything after this field, in bytes: 49 of the header plus
      those of the records. The batch as a whole is 12 bytes longer.
  - id: partition_leader_epoch
    -orig-id: partitionLeaderEpoch
    type: s4
    -default: -1
    doc: |
      Epoch of the leader that appended the batch; -1 is unknown. Producers
      send -1 and the broker sets the real one: it is outside the CRC.
  - id: magic
    type: s1
    valid: 2
    -default: 2
    doc: |
      Version of the message format. It stands at the same place, byte 16, in
      the older formats of `message_set`.
  - id: crc
    type: u4
    -derive: crc32c(attributes..records)
    doc: |
      CRC-32C (Castagnoli) of everything after this field, as stored: of the
      compressed bytes where the records are compressed.
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
      Last offset of the batch minus `base_offset`. Compaction keeps it when it
      removes the last records, so it can be larger than the last record's
      `offset_delta`, and it stays in a batch without records.
  - id: base_timestamp
    -orig-id: baseTimestamp
    type: s8
    -default: -1
    doc: |
      Milliseconds since 1970-01-01 UTC to which the records' deltas are added:
      the first record's timestamp, or the delete horizon where
      `attributes.has_delete_horizon` is set; -1 is none.
  - id: max_timestamp
    -orig-id: maxTimestamp
    type: s8
    -derive:
      value: max(records.timestamp_delta) + base_timestamp
      when: attributes.timestamp_type == timestamp_type::create_time
    doc: |
      Largest timestamp of the records, in milliseconds since 1970-01-01 UTC;
      or, where the type is `log_append_time`, the time of the append, which
      then is the timestamp of every record. -1 is none. Kept in a batch
      without records.
  - id: producer_id
    -orig-id: producerId
    type: s8
    -default: -1
    doc: Id of the idempotent or transactional producer (KIP-98); -1 is none.
  - id: producer_epoch
    -orig-id: producerEpoch
    type: s2
    -default: -1
    doc: Epoch of that producer; -1 is none.
  - id: base_sequence
    -orig-id: baseSequence
    type: s4
    -default: -1
    doc: |
      Sequence number of the producer's first record in the batch; -1 is none,
      as in control batches. After 2147483647 comes 0.
  - id: num_records
    -orig-id: recordsCount
    type: s4
    valid:
      min: 0
    -derive: count_of(records)
    doc: |
      Number of records present. After compaction it may be less than
      `last_offset_delta + 1`, and even 0.
  - id: records
    size: len_batch - 49
    type:
      switch-on: attributes.compression
      cases:
        'compression::none': record_list
    if: num_records != 0
    -codec: attributes.compression
    -inner: record_list
    doc: |
      The records. Parsed when the compression is `none`; otherwise the
      compressed bytes, to be decompressed and parsed as `record_list`. Kafka
      does not look at bytes after a header that counts 0 records.
types:
  batch_attributes:
    doc: |
      What holds for the whole batch. Kafka reads only the low byte of the two,
      and drops the reserved bits when it rewrites a batch.
    seq:
      - id: reserved
        type: b9
        -default: 0
        doc: Without meaning yet.
      - id: has_delete_horizon
        -orig-id: hasDeleteHorizonMs
        type: b1
        -default: false
        doc: |
          If set, `base_timestamp` is the delete horizon of the batch
          (KIP-534): the time from which compaction may drop its tombstones and
          transaction markers. The records' deltas are relative to it, and
          often negative.
      - id: is_control
        -orig-id: isControlBatch
        type: b1
        -default: false
        doc: |
          If set, the records are control records, not to be given to users.
          Their keys are of type `control_record_key`.
      - id: is_transactional
        -orig-id: isTransactional
        type: b1
        -default: false
        doc: If set, the batch is part of a transaction.
      - id: timestamp_type
        -orig-id: timestampType
        type: b1
        enum: timestamp_type
        -default: create_time
        doc: Who set the records' timestamps.
      - id: compression
        type: b3
        enum: compression
        -default: none
        doc: How the records are compressed. 5 to 7 are not in use.
  record_list:
    -wire: list
    doc: The records of a batch after decompression.
    seq:
      - id: entries
        type: record
        repeat: eos
        doc: As many records as the header's `num_records` says.
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
      doc: Snappy, in xerial's framing of blocks or as one raw block.
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
      doc: The producer did.
    1:
      id: log_append_time
      -orig-id: LogAppendTime
      doc: The broker did, on append.

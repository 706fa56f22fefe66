meta:
  id: redpanda_snapshot
  title: Redpanda snapshot of a partition
  application: Redpanda
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  endian: le
doc: |
  The file `snapshot` in a partition's folder: a header, metadata of Raft, and
  the state of the partition. The log before it may be deleted.
doc-ref: >-
  https://github.com/redpanda-data/redpanda/blob/dev/src/v/storage/snapshot.h
  snapshot_header
seq:
  - id: header_crc
    type: u4
    -derive: crc32c(metadata_crc..len_metadata)
    doc: CRC-32C of the rest of the header.
  - id: metadata_crc
    type: u4
    -derive: crc32c(last_offset..offset_delta)
    doc: |
      CRC-32C of the metadata, the fields from `last_offset` to `offset_delta`.
  - id: version
    type: s1
    valid: 1
    -default: 1
    doc: Version of the header.
  - id: len_metadata
    -orig-id: metadata_size
    type: s4
    valid:
      min: 33
    -derive: length_of(last_offset..offset_delta)
    doc: Length of the metadata in bytes.
  - id: last_offset
    -orig-id: last_included_index
    type: s8
    doc: The last offset in the snapshot, of the Raft log.
  - id: last_term
    -orig-id: last_included_term
    type: s8
    doc: The term of that offset.
  - id: metadata_version
    -orig-id: version
    type: s1
    valid:
      min: 64
    -default: 64
    doc: |
      Version of the metadata. Metadata before 64 has the configuration, whose
      version is lower, at this place, and no `offset_delta`.
  - id: configuration
    size: len_metadata - 33
    doc: The voters of the Raft group.
  - id: cluster_time
    type: s8
    doc: Milliseconds of the cluster's clock.
  - id: offset_delta
    -orig-id: log_start_delta
    type: s8
    doc: |
      The offset after `last_offset`, minus the Kafka offset that it has;
      negative means unknown.
  - id: state
    size-eos: true
    doc: The state of the partition's state machines.

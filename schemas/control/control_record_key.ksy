meta:
  id: control_record_key
  title: Kafka control record key
  license: Apache-2.0
  endian: be
doc: |
  Key of a control record: a record in a batch whose `attributes.is_control` is
  set. It determines the type of the record's value. Kafka ignores bytes after
  these four.
doc-ref: https://kafka.apache.org/documentation/#controlbatch Control Batches
seq:
  - id: version
    type: s2
    valid: {min: 0}
    -default: 0
    doc: |
      Version of the key. Only 0 has been used; Kafka reads any higher version
      as 0.
  - id: control_type
    -orig-id: type
    type: s2
    enum: control_record_type
    doc: Type of the control record. Kafka skips records of unknown types.
enums:
  control_record_type:
    0:
      id: abort
      doc: Aborts a transaction. The value is an `end_txn_marker`.
    1:
      id: commit
      doc: Commits a transaction. The value is an `end_txn_marker`.
    2:
      id: leader_change
      doc: A KRaft leader was elected. The value is a `leader_change_message`.
    3:
      id: snapshot_header
      doc: A KRaft snapshot starts. The value is a `snapshot_header_record`.
    4:
      id: snapshot_footer
      doc: A KRaft snapshot ends. The value is a `snapshot_footer_record`.
    5:
      id: kraft_version
      doc: Feature level of KRaft. The value is a `kraft_version_record`.
    6:
      id: kraft_voters
      doc: The voters of the KRaft quorum. The value is a `voters_record`.

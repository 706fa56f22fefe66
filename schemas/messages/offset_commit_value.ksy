meta:
  id: offset_commit_value
  title: Kafka OffsetCommitValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-names: camelCase
-row: true
-message:
  kind: coordinator-value
  number: 1
  topic: __consumer_offsets
  flexible: 4+
doc: |
  Value of an offset commit: the committed offset of a consumer group in a
  partition. Version 4 is the first flexible version: strings are compact, and
  the value ends with tagged fields. Kafka writes version 3, version 4 since
  Kafka 4.1, or version 1 if an expiry time is set.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue
seq:
  - id: version
    type: s2
    valid: {min: 0, max: 4}
    -default: 3
    -column: false
    doc: Version of the value.
  - id: committed_offset
    -orig-id: offset
    type: s8
    doc: 'The committed offset: the offset of the next record to read.'
  - id: leader_epoch
    type: s4
    if: version >= 3
    -ignorable: true
    -default: -1
    doc: |
      Leader epoch of the last record that was read (KIP-320); -1 means unknown.
  - id: metadata
    type: text(version >= 4)
    doc: Free text from the client. May be empty, never null.
  - id: commit_timestamp
    type: s8
    -column:
      type: timestamp[ms]
    doc: Time of the commit, in milliseconds since 1970-01-01 UTC.
  - id: expire_timestamp
    type: s8
    if: version == 1
    -ignorable: true
    -default: -1
    -column:
      type: timestamp[ms]
    doc: |
      Time at which the offset expires, in milliseconds since 1970-01-01 UTC;
      with -1, the broker's retention decides. In version 1 only.
  - {id: tagged_fields, type: message_tags, if: version >= 4}
types:
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
            0: uuid
        -tags:
          0:
            id: topic_id
            -ignorable: true
            doc: |
              Id of the topic, since Kafka 4.1. Absent or all zeros means
              unknown.

meta:
  id: offset_commit_value
  title: Kafka OffsetCommitValue (value in __consumer_offsets)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: OffsetCommitValue
-versions: 0-4
-flexible: 4+
-row: true
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 1
doc: |
  Value of an offset commit: the committed offset of a consumer group in a
  partition. Version 4 is the first flexible version: strings are compact, and
  the value ends with tagged fields. Kafka writes version 3, version 4 since
  Kafka 4.1, or version 1 if an expiry time is set.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/group-coordinator/src/main/resources/common/message/OffsetCommitValue.json OffsetCommitValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 4
    -default: 3
    -column: false
    doc: Version of the value.
  - id: committed_offset
    -orig-id: offset
    type: s8
    -column:
      type: int64
    doc: 'The committed offset: the offset of the next record to read.'
  - id: leader_epoch
    -orig-id: leaderEpoch
    type: s4
    if: version >= 3
    -since: 3
    -ignorable: true
    -default: -1
    -column:
      type: int32
    doc: |
      Leader epoch of the last record that was read (KIP-320); -1 means unknown.
  - id: metadata
    -orig-id: metadata
    type: text(version >= 4)
    -column:
      type: string
    doc: Free text from the client. May be empty, never null.
  - id: commit_timestamp
    -orig-id: commitTimestamp
    type: s8
    -column:
      type: timestamp[ms]
    doc: Time of the commit, in milliseconds since 1970-01-01 UTC.
  - id: expire_timestamp
    -orig-id: expireTimestamp
    type: s8
    if: version == 1
    -since: 1
    -until: 1
    -ignorable: true
    -default: -1
    -column:
      type: timestamp[ms]
    doc: |
      Time at which the offset expires, in milliseconds since 1970-01-01 UTC;
      with -1, the broker's retention decides. In version 1 only.
  - id: tagged_fields
    type: message_tags
    if: version >= 4
    -since: 4
    doc: Optional fields, known and unknown.
types:
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
            0: uuid
        -tags:
          0:
            id: topic_id
            -orig-id: topicId
            -ignorable: true
            doc: |
              Id of the topic, since Kafka 4.1. Absent or all zeros means
              unknown.
        doc: The field's value. The values of unknown tags are kept as bytes.

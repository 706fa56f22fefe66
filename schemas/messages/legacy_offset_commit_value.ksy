meta:
  id: legacy_offset_commit_value
  title: Kafka LegacyOffsetCommitValue (value in __consumer_offsets)
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
  endian: be
-orig-id: LegacyOffsetCommitValue
-versions: 0
-flexible: none
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 0
doc: >-
  Kafka's LegacyOffsetCommitValue: value in __consumer_offsets, number 0 of its
  kind; version 0, not flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/LegacyOffsetCommitValue.json LegacyOffsetCommitValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: offset
    -orig-id: offset
    type: s8
    doc: An int64.
  - id: metadata
    -orig-id: metadata
    type: text(false)
    doc: A string.
  - id: commit_timestamp
    -orig-id: commitTimestamp
    type: s8
    doc: An int64.

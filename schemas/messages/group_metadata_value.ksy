meta:
  id: group_metadata_value
  title: Kafka GroupMetadataValue (value in __consumer_offsets)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/blob
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-orig-id: GroupMetadataValue
-versions: 0-4
-flexible: 4+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 2
doc: >-
  Kafka's GroupMetadataValue: value in __consumer_offsets, number 2 of its kind;
  versions 0-4, flexible from 4.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/GroupMetadataValue.json GroupMetadataValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 4
    doc: Version of the message.
  - id: protocol_type
    -orig-id: protocolType
    type: text(version >= 4)
    doc: A string.
  - id: generation
    -orig-id: generation
    type: s4
    doc: An int32.
  - id: protocol
    -orig-id: protocol
    type: nullable_text(version >= 4)
    -default: empty
    doc: A string, or null.
  - id: leader
    -orig-id: leader
    type: nullable_text(version >= 4)
    -default: empty
    doc: A string, or null.
  - id: current_state_timestamp
    -orig-id: currentStateTimestamp
    type: s8
    if: version >= 2
    -since: 2
    -ignorable: true
    -default: -1
    doc: An int64.
  - id: num_members
    type: s4
    valid:
      min: 0
    if: version <= 3
    -until: 3
    -derive: count_of(members)
    doc: Number of elements of `members`.
  - id: num_members_plus_one
    type: unsigned_varint
    valid:
      expr: _.value >= 1
    if: version >= 4
    -since: 4
    -derive: count_of(members) + 1
    doc: Number of elements of `members`, plus one.
  - id: members
    -orig-id: members
    type: member_metadata(version)
    repeat: expr
    repeat-expr: >-
      (version >= 4 ? (num_members_plus_one.value - (1).as<s8>).as<s4> :
      num_members.as<s4>).as<s4>
    doc: An array of `member_metadata`.
  - id: tagged_fields
    type: tagged_fields
    if: version >= 4
    -since: 4
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  member_metadata:
    -orig-id: MemberMetadata
    -versions: 0-4
    doc: Kafka's MemberMetadata.
    params:
      - id: version
        type: s2
        doc: Version of the message.
    seq:
      - id: member_id
        -orig-id: memberId
        type: text(version >= 4)
        doc: A string.
      - id: group_instance_id
        -orig-id: groupInstanceId
        type: nullable_text(version >= 4)
        if: version >= 3
        -since: 3
        -ignorable: true
        doc: A string, or null.
      - id: client_id
        -orig-id: clientId
        type: text(version >= 4)
        doc: A string.
      - id: client_host
        -orig-id: clientHost
        type: text(version >= 4)
        doc: A string.
      - id: rebalance_timeout
        -orig-id: rebalanceTimeout
        type: s4
        if: version >= 1
        -since: 1
        -ignorable: true
        -default: -1
        doc: An int32.
      - id: session_timeout
        -orig-id: sessionTimeout
        type: s4
        doc: An int32.
      - id: subscription
        -orig-id: subscription
        type: blob(version >= 4)
        doc: Bytes.
      - id: assignment
        -orig-id: assignment
        type: blob(version >= 4)
        doc: Bytes.
      - id: tagged_fields
        type: tagged_fields
        if: version >= 4
        -since: 4
        doc: Optional fields. None is defined; unknown ones are kept.

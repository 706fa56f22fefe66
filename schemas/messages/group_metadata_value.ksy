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
  A classic group after a rebalance: its members, what they asked for and what
  they were assigned. Version 4 is the first flexible version. Kafka writes 3,
  and before 2.3 lower ones.
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
    doc: >-
      What the members are: `consumer` for Kafka's consumers, `connect` for
      Connect workers, or another word of a client's. Empty where only offsets
      were committed.
  - id: generation
    -orig-id: generation
    type: s4
    doc: Number of the group's generation. Each rebalance raises it by one.
  - id: protocol
    -orig-id: protocol
    type: nullable_text(version >= 4)
    -default: empty
    doc: >-
      Name of the assignor that the members agreed on, such as `range`. Null
      where there are no members.
  - id: leader
    -orig-id: leader
    type: nullable_text(version >= 4)
    -default: empty
    doc: >-
      Member id of the member that computes the assignment. Null where there are
      no members.
  - id: current_state_timestamp
    -orig-id: currentStateTimestamp
    type: s8
    if: version >= 2
    -since: 2
    -ignorable: true
    -default: -1
    doc: >-
      Since when the group is in its state, in milliseconds since 1970-01-01
      UTC; -1 is unknown. Of a group without members, offsets expire counted
      from here.
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
    -valid:
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
    doc: Members of this generation; none in an empty group.
  - id: tagged_fields
    type: tagged_fields
    if: version >= 4
    -since: 4
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  member_metadata:
    -orig-id: MemberMetadata
    -versions: 0-4
    doc: A member of the group in this generation.
    params:
      - id: version
        type: s2
        doc: Version of the message.
    seq:
      - id: member_id
        -orig-id: memberId
        type: text(version >= 4)
        doc: >-
          Id of the member: its client id or instance id and a UUID, made by the
          coordinator.
      - id: group_instance_id
        -orig-id: groupInstanceId
        type: nullable_text(version >= 4)
        if: version >= 3
        -since: 3
        -ignorable: true
        doc: >-
          `group.instance.id` of a static member (KIP-345). Null is a dynamic
          one.
      - id: client_id
        -orig-id: clientId
        type: text(version >= 4)
        doc: '`client.id` that the member''s connection gave. May be empty.'
      - id: client_host
        -orig-id: clientHost
        type: text(version >= 4)
        doc: >-
          Address that the member connected from, in Java's notation: `/` and
          the IP address.
      - id: rebalance_timeout
        -orig-id: rebalanceTimeout
        type: s4
        if: version >= 1
        -since: 1
        -ignorable: true
        -default: -1
        doc: >-
          How long a rebalance waits for the member, in milliseconds. Before
          version 1, and where it is -1, `session_timeout` is that time.
      - id: session_timeout
        -orig-id: sessionTimeout
        type: s4
        doc: >-
          Without a heartbeat for this many milliseconds, the member is removed.
      - id: subscription
        -orig-id: subscription
        type: blob(version >= 4)
        doc: >-
          What the member sent for `protocol`. Of consumers, a
          `consumer_protocol_subscription`.
      - id: assignment
        -orig-id: assignment
        type: blob(version >= 4)
        doc: >-
          What the leader assigned to the member; empty is nothing. Of
          consumers, a `consumer_protocol_assignment`.
      - id: tagged_fields
        type: tagged_fields
        if: version >= 4
        -since: 4
        doc: Optional fields. None is defined; unknown ones are kept.

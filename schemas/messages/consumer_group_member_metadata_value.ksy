meta:
  id: consumer_group_member_metadata_value
  title: Kafka ConsumerGroupMemberMetadataValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/blob
    - ../primitives/count
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 5
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Metadata of a consumer group member, as the member reported it: its identity
  and its subscription.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: instance_id
    type: nullable_text(true)
    -default: empty
    doc: >-
      `group.instance.id` of a static member (KIP-345); null for a dynamic
      member.
  - id: rack_id
    type: nullable_text(true)
    -default: empty
    doc: '`client.rack` of the member, or null.'
  - id: client_id
    type: text(true)
    doc: '`client.id` of the member''s connection. May be empty.'
  - id: client_host
    type: text(true)
    doc: >-
      Address of the member's connection, in Java's notation: `/` and the IP
      address.
  - {id: num_subscribed_topic_names, type: count(true)}
  - id: subscribed_topic_names
    type: text(true)
    repeat: expr
    repeat-expr: num_subscribed_topic_names.value
    doc: Topics that the member subscribes to by name, sorted by name.
  - id: subscribed_topic_regex
    type: nullable_text(true)
    -default: empty
    doc: >-
      Regular expression of the member's subscription, in the syntax of RE2/J.
      Null or empty means none.
  - id: rebalance_timeout_ms
    type: s4
    -default: -1
    doc: >-
      Time that the member has to revoke partitions, in milliseconds; -1 means
      unset.
  - id: server_assignor
    type: nullable_text(true)
    -default: empty
    doc: >-
      Server-side assignor that the member prefers, such as `uniform`; null if
      the broker is to choose.
  - {id: tagged_fields, type: message_tags}
types:
  classic_member_metadata:
    doc: Metadata that a member of the classic protocol sent when it joined.
    seq:
      - id: session_timeout_ms
        type: s4
        doc: >-
          The coordinator removes the member after this time without a
          heartbeat, in milliseconds.
      - {id: num_supported_protocols, type: count(true)}
      - id: supported_protocols
        type: classic_protocol
        repeat: expr
        repeat-expr: num_supported_protocols.value
        doc: Assignors that the member supports, most preferred first.
      - {id: tagged_fields, type: tagged_fields}
  classic_protocol:
    doc: One assignor that the member supports.
    seq:
      - id: name
        type: text(true)
        doc: Name of the assignor, such as `range` or `cooperative-sticky`.
      - id: metadata
        type: blob(true)
        doc: >-
          Metadata that the member sent for this assignor: a
          `consumer_protocol_subscription`.
      - {id: tagged_fields, type: tagged_fields}
  nullable_classic_member_metadata:
    -unwrap: value
    doc: 'Value of a tagged field: a `classic_member_metadata`, or null.'
    seq:
      - id: has_value
        type: unsigned_varint
        doc: 'Whether `value` is present: 1, or 0 if it is null.'
      - id: value
        type: classic_member_metadata
        if: has_value.value >= 1
        -nullable: true
        doc: The value, or null.
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
            0: nullable_classic_member_metadata
        -tags:
          0:
            id: classic_member_metadata
            -default: empty
            doc: >-
              Metadata of a member that uses the classic protocol; null if the
              member uses the consumer protocol.

meta:
  id: consumer_group_member_metadata_value
  title: Kafka ConsumerGroupMemberMetadataValue (value in __consumer_offsets)
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
-orig-id: ConsumerGroupMemberMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 5
doc: >-
  Metadata of a consumer group member, as the member reported it: its identity
  and its subscription.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ConsumerGroupMemberMetadataValue.json ConsumerGroupMemberMetadataValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: instance_id
    -orig-id: InstanceId
    type: nullable_text(true)
    -default: empty
    doc: >-
      `group.instance.id` of a static member (KIP-345); null for a dynamic
      member.
  - id: rack_id
    -orig-id: RackId
    type: nullable_text(true)
    -default: empty
    doc: '`client.rack` of the member, or null.'
  - id: client_id
    -orig-id: ClientId
    type: text(true)
    doc: '`client.id` of the member''s connection. May be empty.'
  - id: client_host
    -orig-id: ClientHost
    type: text(true)
    doc: >-
      Address of the member's connection, in Java's notation: `/` and the IP
      address.
  - id: num_subscribed_topic_names_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(subscribed_topic_names) + 1
    doc: Number of elements of `subscribed_topic_names`, plus one.
  - id: subscribed_topic_names
    -orig-id: SubscribedTopicNames
    type: text(true)
    repeat: expr
    repeat-expr: num_subscribed_topic_names_plus_one.value - 1
    doc: Topics that the member subscribes to by name, sorted by name.
  - id: subscribed_topic_regex
    -orig-id: SubscribedTopicRegex
    type: nullable_text(true)
    -default: empty
    doc: >-
      Regular expression of the member's subscription, in the syntax of RE2/J.
      Null or empty means none.
  - id: rebalance_timeout_ms
    -orig-id: RebalanceTimeoutMs
    type: s4
    -default: -1
    doc: >-
      Time that the member has to revoke partitions, in milliseconds; -1 means
      unset.
  - id: server_assignor
    -orig-id: ServerAssignor
    type: nullable_text(true)
    -default: empty
    doc: >-
      Server-side assignor that the member prefers, such as `uniform`; null if
      the broker is to choose.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  classic_member_metadata:
    -orig-id: ClassicMemberMetadata
    doc: Metadata that a member of the classic protocol sent when it joined.
    seq:
      - id: session_timeout_ms
        -orig-id: SessionTimeoutMs
        type: s4
        doc: >-
          The coordinator removes the member after this time without a
          heartbeat, in milliseconds.
      - id: num_supported_protocols_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(supported_protocols) + 1
        doc: Number of elements of `supported_protocols`, plus one.
      - id: supported_protocols
        -orig-id: SupportedProtocols
        type: classic_protocol
        repeat: expr
        repeat-expr: num_supported_protocols_plus_one.value - 1
        doc: Assignors that the member supports, most preferred first.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  classic_protocol:
    -orig-id: ClassicProtocol
    doc: One assignor that the member supports.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: Name of the assignor, such as `range` or `cooperative-sticky`.
      - id: metadata
        -orig-id: Metadata
        type: blob(true)
        doc: >-
          Metadata that the member sent for this assignor: a
          `consumer_protocol_subscription`.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  nullable_classic_member_metadata:
    -wire: value
    doc: 'Value of a tagged field: a `classic_member_metadata`, or null.'
    seq:
      - id: has_value
        type: unsigned_varint
        -derive: presence_of(value)
        doc: 'Whether `value` is present: 1, or 0 if it is null.'
      - id: value
        type: classic_member_metadata
        if: has_value.value >= 1
        -nullable: has_value.value == 0
        doc: The value, or null.
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
            0: nullable_classic_member_metadata
        -tags:
          0:
            id: classic_member_metadata
            -orig-id: ClassicMemberMetadata
            -default: empty
            doc: >-
              Metadata of a member that uses the classic protocol; null if the
              member uses the consumer protocol.
        doc: The field's value. The values of unknown tags are kept as bytes.

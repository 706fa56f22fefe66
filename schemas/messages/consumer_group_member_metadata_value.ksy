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
  What a member of a consumer group reported of itself: who it is, and what it
  subscribes to.
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
      `group.instance.id` of a static member (KIP-345). Null is a dynamic one.
  - id: rack_id
    -orig-id: RackId
    type: nullable_text(true)
    -default: empty
    doc: '`client.rack` of the member. Null is none.'
  - id: client_id
    -orig-id: ClientId
    type: text(true)
    doc: '`client.id` that the member''s connection gave. May be empty.'
  - id: client_host
    -orig-id: ClientHost
    type: text(true)
    doc: >-
      Address that the member connected from, in Java's notation: `/` and the IP
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
    doc: Topics that the member subscribes to by name, in order of the names.
  - id: subscribed_topic_regex
    -orig-id: SubscribedTopicRegex
    type: nullable_text(true)
    -default: empty
    doc: >-
      Regular expression, in RE2/J's syntax, by which the member subscribes to
      topics. Null or empty is none.
  - id: rebalance_timeout_ms
    -orig-id: RebalanceTimeoutMs
    type: s4
    -default: -1
    doc: >-
      How long the member may take to give up partitions, in milliseconds; -1 is
      not given.
  - id: server_assignor
    -orig-id: ServerAssignor
    type: nullable_text(true)
    -default: empty
    doc: >-
      Name of the broker's assignor that the member wants, such as `uniform`.
      Null leaves it to the broker.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  classic_member_metadata:
    -orig-id: ClassicMemberMetadata
    doc: What a member of the classic protocol sent as it joined.
    seq:
      - id: session_timeout_ms
        -orig-id: SessionTimeoutMs
        type: s4
        doc: >-
          Without a heartbeat for this many milliseconds, the member is removed.
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
        doc: Assignors that the member supports, the one it prefers first.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  classic_protocol:
    -orig-id: ClassicProtocol
    doc: One assignor of the member's.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: Name of the assignor, such as `range` or `cooperative-sticky`.
      - id: metadata
        -orig-id: Metadata
        type: blob(true)
        doc: >-
          What the member sent for this assignor: a
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
        doc: 'Whether `value` is there: 1, or 0 where it is null.'
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
              What a member sent that uses the classic protocol. Null is one
              that uses the consumer protocol.
        doc: >-
          The field's value. A tag that is not known here gives bytes, which are
          kept.

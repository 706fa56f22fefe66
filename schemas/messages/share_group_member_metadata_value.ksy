meta:
  id: share_group_member_metadata_value
  title: Kafka ShareGroupMemberMetadataValue (value in __consumer_offsets)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
  endian: be
-orig-id: ShareGroupMemberMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 10
doc: >-
  Metadata of a share group member, as the member reported it: its identity and
  its subscription.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupMemberMetadataValue.json ShareGroupMemberMetadataValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
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
    doc: Topics that the member subscribes to, sorted by name.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

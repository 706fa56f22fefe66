meta:
  id: share_group_member_metadata_value
  title: Kafka ShareGroupMemberMetadataValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 10
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Metadata of a share group member, as the member reported it: its identity and
  its subscription.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/ShareGroupMemberMetadataValue.json ShareGroupMemberMetadataValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
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
    doc: Topics that the member subscribes to, sorted by name.
  - {id: tagged_fields, type: tagged_fields}

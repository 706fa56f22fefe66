meta:
  id: streams_group_member_metadata_value
  title: Kafka StreamsGroupMemberMetadataValue (value in __consumer_offsets)
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
  number: 19
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  Metadata of a streams group member, as the member reported it. Each stream
  thread is a member.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMemberMetadataValue.json StreamsGroupMemberMetadataValue
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
  - id: rebalance_timeout_ms
    type: s4
    -default: -1
    doc: >-
      Time that the member has to revoke tasks, in milliseconds; -1 means unset.
  - id: topology_epoch
    type: s4
    doc: >-
      Epoch of the topology that the member runs; lower than the group's if the
      member must still be updated.
  - id: process_id
    type: text(true)
    doc: >-
      Id of the process that the member runs in. All members of one process
      share one state directory.
  - id: has_user_endpoint
    type: s1
    doc: >-
      Whether `user_endpoint` is present: 1, or a negative number if it is null.
  - id: user_endpoint
    type: endpoint
    if: has_user_endpoint >= 0
    -nullable: true
    doc: >-
      Address at which the process answers interactive queries
      (`application.server`), or null.
  - {id: num_client_tags, type: count(true)}
  - id: client_tags
    type: key_value
    repeat: expr
    repeat-expr: num_client_tags.value
    doc: >-
      Tags of the process (`client.tag.*`), which determine how standby tasks
      are distributed.
  - {id: tagged_fields, type: tagged_fields}
types:
  endpoint:
    doc: An address for interactive queries.
    seq:
      - id: host
        type: text(true)
        doc: Host name or address.
      - id: port
        type: u2
        doc: TCP port.
      - {id: tagged_fields, type: tagged_fields}
  key_value:
    doc: One tag.
    seq:
      - id: key
        type: text(true)
        doc: Name of the tag, such as `zone`.
      - id: value
        type: text(true)
        doc: Value of the tag.
      - {id: tagged_fields, type: tagged_fields}

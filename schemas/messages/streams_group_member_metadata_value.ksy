meta:
  id: streams_group_member_metadata_value
  title: Kafka StreamsGroupMemberMetadataValue (value in __consumer_offsets)
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
-orig-id: StreamsGroupMemberMetadataValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 19
doc: >-
  Metadata of a streams group member, as the member reported it. Each stream
  thread is a member.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupMemberMetadataValue.json StreamsGroupMemberMetadataValue
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
  - id: rebalance_timeout_ms
    -orig-id: RebalanceTimeoutMs
    type: s4
    -default: -1
    doc: >-
      Time that the member has to revoke tasks, in milliseconds; -1 means unset.
  - id: topology_epoch
    -orig-id: TopologyEpoch
    type: s4
    doc: >-
      Epoch of the topology that the member runs; lower than the group's if the
      member must still be updated.
  - id: process_id
    -orig-id: ProcessId
    type: text(true)
    doc: >-
      Id of the process that the member runs in. All members of one process
      share one state directory.
  - id: has_user_endpoint
    type: s1
    -derive: presence_of(user_endpoint)
    doc: >-
      Whether `user_endpoint` is present: 1, or a negative number if it is null.
  - id: user_endpoint
    -orig-id: UserEndpoint
    type: endpoint
    if: has_user_endpoint >= 0
    -nullable: has_user_endpoint == -1
    doc: >-
      Address at which the process answers interactive queries
      (`application.server`), or null.
  - id: num_client_tags_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(client_tags) + 1
    doc: Number of elements of `client_tags`, plus one.
  - id: client_tags
    -orig-id: ClientTags
    type: key_value
    repeat: expr
    repeat-expr: num_client_tags_plus_one.value - 1
    doc: >-
      Tags of the process (`client.tag.*`), which determine how standby tasks
      are distributed.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  endpoint:
    -orig-id: Endpoint
    doc: An address for interactive queries.
    seq:
      - id: host
        -orig-id: Host
        type: text(true)
        doc: Host name or address.
      - id: port
        -orig-id: Port
        type: u2
        doc: TCP port.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  key_value:
    -orig-id: KeyValue
    doc: One tag.
    seq:
      - id: key
        -orig-id: Key
        type: text(true)
        doc: Name of the tag, such as `zone`.
      - id: value
        -orig-id: Value
        type: text(true)
        doc: Value of the tag.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.

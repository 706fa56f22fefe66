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
  Kafka's StreamsGroupMemberMetadataValue: value in __consumer_offsets, number
  19 of its kind; version 0, flexible.
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
    doc: A string, or null.
  - id: rack_id
    -orig-id: RackId
    type: nullable_text(true)
    -default: empty
    doc: A string, or null.
  - id: client_id
    -orig-id: ClientId
    type: text(true)
    doc: A string.
  - id: client_host
    -orig-id: ClientHost
    type: text(true)
    doc: A string.
  - id: rebalance_timeout_ms
    -orig-id: RebalanceTimeoutMs
    type: s4
    -default: -1
    doc: An int32.
  - id: topology_epoch
    -orig-id: TopologyEpoch
    type: s4
    doc: An int32.
  - id: process_id
    -orig-id: ProcessId
    type: text(true)
    doc: A string.
  - id: has_user_endpoint
    type: s1
    -derive: presence_of(user_endpoint)
    doc: >-
      Whether `user_endpoint` is there: 1, or a negative number where it is
      null.
  - id: user_endpoint
    -orig-id: UserEndpoint
    type: endpoint
    if: has_user_endpoint >= 0
    -nullable: has_user_endpoint == -1
    doc: An `endpoint`, or null.
  - id: num_client_tags_plus_one
    type: unsigned_varint
    valid:
      expr: _.value >= 1
    -derive: count_of(client_tags) + 1
    doc: Number of elements of `client_tags`, plus one.
  - id: client_tags
    -orig-id: ClientTags
    type: key_value
    repeat: expr
    repeat-expr: num_client_tags_plus_one.value - 1
    doc: An array of `key_value`.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  endpoint:
    -orig-id: Endpoint
    doc: Kafka's Endpoint.
    seq:
      - id: host
        -orig-id: Host
        type: text(true)
        doc: A string.
      - id: port
        -orig-id: Port
        type: u2
        doc: A uint16.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  key_value:
    -orig-id: KeyValue
    doc: Kafka's KeyValue.
    seq:
      - id: key
        -orig-id: Key
        type: text(true)
        doc: A string.
      - id: value
        -orig-id: Value
        type: text(true)
        doc: A string.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.

meta:
  id: streams_group_topology_key
  title: Kafka StreamsGroupTopologyKey (key in __consumer_offsets)
  license: Apache-2.0
  imports: [../primitives/text]
  endian: be
-names: PascalCase
-message: {kind: coordinator-key, number: 23, topic: __consumer_offsets}
doc: >-
  Key of the topology of a streams group. A null value means that the group has
  no topology.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyKey.json StreamsGroupTopologyKey
seq:
  - id: record_type
    type: s2
    valid: 23
    doc: Record type, which determines the schemas of the key and the value.
  - id: group_id
    type: text(false)
    doc: Id of the streams group.

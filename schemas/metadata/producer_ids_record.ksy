meta:
  id: producer_ids_record
  title: Kafka ProducerIdsRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 15, topic: __cluster_metadata, flexible: 0+}
doc: A block of 1000 producer ids was allocated to a broker.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ProducerIdsRecord.json ProducerIdsRecord
params:
  - {id: version, type: s2}
seq:
  - id: broker_id
    type: s4
    doc: Id of the broker that the block was allocated to.
  - id: broker_epoch
    type: s8
    -default: -1
    doc: Epoch of that broker's registration; -1 means unknown.
  - id: next_producer_id
    type: s8
    doc: First producer id after the block, with which the next block starts.
  - {id: tagged_fields, type: tagged_fields}

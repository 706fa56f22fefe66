meta:
  id: producer_ids_record
  title: Kafka ProducerIdsRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/tagged_fields
  endian: be
-orig-id: ProducerIdsRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 15
doc: A block of 1000 producer ids was allocated to a broker.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ProducerIdsRecord.json ProducerIdsRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Id of the broker that the block was allocated to.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    type: s8
    -default: -1
    doc: Epoch of that broker's registration; -1 means unknown.
  - id: next_producer_id
    -orig-id: NextProducerId
    type: s8
    doc: First producer id after the block, with which the next block starts.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

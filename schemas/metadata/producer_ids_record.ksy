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
doc: >-
  Kafka's ProducerIdsRecord: record in __cluster_metadata, number 15 of its
  kind; version 0, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ProducerIdsRecord.json ProducerIdsRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: An int32.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    type: s8
    -default: -1
    doc: An int64.
  - id: next_producer_id
    -orig-id: NextProducerId
    type: s8
    doc: An int64.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

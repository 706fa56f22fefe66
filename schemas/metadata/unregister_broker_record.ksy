meta:
  id: unregister_broker_record
  title: Kafka UnregisterBrokerRecord (record in __cluster_metadata)
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
-orig-id: UnregisterBrokerRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 1
doc: An administrator removed a broker from the cluster.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UnregisterBrokerRecord.json UnregisterBrokerRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Id of the broker.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    type: s8
    doc: Epoch of the removed registration.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

meta:
  id: unregister_broker_record
  title: Kafka UnregisterBrokerRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 1, topic: __cluster_metadata, flexible: 0+}
doc: An administrator removed a broker from the cluster.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UnregisterBrokerRecord.json UnregisterBrokerRecord
params:
  - {id: version, type: s2}
seq:
  - id: broker_id
    type: s4
    doc: Id of the broker.
  - id: broker_epoch
    type: s8
    doc: Epoch of the removed registration.
  - {id: tagged_fields, type: tagged_fields}

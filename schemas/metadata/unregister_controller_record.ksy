meta:
  id: unregister_controller_record
  title: Kafka UnregisterControllerRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 29, topic: __cluster_metadata, flexible: 0+}
doc: The registration of a controller was removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UnregisterControllerRecord.json UnregisterControllerRecord
params:
  - {id: version, type: s2}
seq:
  - id: controller_id
    type: s4
    doc: Id of the controller.
  - {id: tagged_fields, type: tagged_fields}

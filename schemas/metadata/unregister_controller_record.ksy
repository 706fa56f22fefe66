meta:
  id: unregister_controller_record
  title: Kafka UnregisterControllerRecord (record in __cluster_metadata)
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
-orig-id: UnregisterControllerRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 29
doc: The registration of a controller was removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UnregisterControllerRecord.json UnregisterControllerRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: controller_id
    -orig-id: ControllerId
    type: s4
    doc: Id of the controller.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

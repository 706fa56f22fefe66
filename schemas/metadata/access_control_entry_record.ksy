meta:
  id: access_control_entry_record
  title: Kafka AccessControlEntryRecord (record in __cluster_metadata)
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
    - ../primitives/text
    - ../primitives/uuid
  endian: be
-orig-id: AccessControlEntryRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 18
doc: >-
  Kafka's AccessControlEntryRecord: record in __cluster_metadata, number 18 of
  its kind; version 0, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/AccessControlEntryRecord.json AccessControlEntryRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: id
    -orig-id: Id
    type: uuid
    doc: A uuid; all zeros is none.
  - id: resource_type
    -orig-id: ResourceType
    type: s1
    doc: An int8.
  - id: resource_name
    -orig-id: ResourceName
    type: text(true)
    doc: A string.
  - id: pattern_type
    -orig-id: PatternType
    type: s1
    doc: An int8.
  - id: principal
    -orig-id: Principal
    type: text(true)
    doc: A string.
  - id: host
    -orig-id: Host
    type: text(true)
    doc: A string.
  - id: operation
    -orig-id: Operation
    type: s1
    doc: An int8.
  - id: permission_type
    -orig-id: PermissionType
    type: s1
    doc: An int8.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

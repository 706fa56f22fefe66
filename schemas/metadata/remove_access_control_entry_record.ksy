meta:
  id: remove_access_control_entry_record
  title: Kafka RemoveAccessControlEntryRecord (record in __cluster_metadata)
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
    - ../primitives/uuid
  endian: be
-orig-id: RemoveAccessControlEntryRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 19
doc: An ACL was removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveAccessControlEntryRecord.json RemoveAccessControlEntryRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: id
    -orig-id: Id
    type: uuid
    doc: Id of the ACL, as in its `access_control_entry_record`.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

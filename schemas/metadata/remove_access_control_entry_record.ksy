meta:
  id: remove_access_control_entry_record
  title: Kafka RemoveAccessControlEntryRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/uuid]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 19, topic: __cluster_metadata, flexible: 0+}
doc: An ACL was removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveAccessControlEntryRecord.json RemoveAccessControlEntryRecord
params:
  - {id: version, type: s2}
seq:
  - id: id
    type: uuid
    doc: Id of the ACL, as in its `access_control_entry_record`.
  - {id: tagged_fields, type: tagged_fields}

meta:
  id: access_control_entry_record
  title: Kafka AccessControlEntryRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/text, ../primitives/uuid]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 18, topic: __cluster_metadata, flexible: 0+}
doc: An ACL was added.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/AccessControlEntryRecord.json AccessControlEntryRecord
params:
  - {id: version, type: s2}
seq:
  - id: id
    type: uuid
    doc: Random id of the ACL, which identifies it when it is removed.
  - id: resource_type
    type: s1
    doc: >-
      Type of the protected resource: 2 topic, 3 group, 4 cluster, 5
      transactional id, 6 delegation token, 7 user.
  - id: resource_name
    type: text(true)
    doc: >-
      Name of the protected resource, or the prefix of names; `*` means all. For
      the cluster, `kafka-cluster`.
  - id: pattern_type
    type: s1
    doc: 'Pattern type: 3 literal, 4 prefixed.'
  - id: principal
    type: text(true)
    doc: >-
      Principal that the ACL applies to, such as `User:alice`; `User:*` means
      everybody.
  - id: host
    type: text(true)
    doc: IP address of clients that the ACL applies to; `*` means any.
  - id: operation
    type: s1
    doc: >-
      Operation that is allowed or denied: 2 all, 3 read, 4 write, 5 create, 6
      delete, 7 alter, 8 describe, 9 cluster action, 10 describe configs, 11
      alter configs, 12 idempotent write, 13 create tokens, 14 describe tokens,
      15 two-phase commit.
  - id: permission_type
    type: s1
    doc: 'Permission: 2 deny, 3 allow.'
  - {id: tagged_fields, type: tagged_fields}

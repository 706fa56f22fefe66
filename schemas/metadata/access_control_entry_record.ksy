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
doc: An ACL was added.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/AccessControlEntryRecord.json AccessControlEntryRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: id
    -orig-id: Id
    type: uuid
    doc: Random id of the ACL, by which it is removed.
  - id: resource_type
    -orig-id: ResourceType
    type: s1
    doc: >-
      What is protected: 2 topics, 3 groups, 4 the cluster, 5 transactional ids,
      6 delegation tokens, 7 users.
  - id: resource_name
    -orig-id: ResourceName
    type: text(true)
    doc: >-
      Name of what is protected, or the start of names; `*` is all. Of the
      cluster, `kafka-cluster`.
  - id: pattern_type
    -orig-id: PatternType
    type: s1
    doc: 'How names are compared: 3 literally, 4 by their start.'
  - id: principal
    -orig-id: Principal
    type: text(true)
    doc: Whom the ACL is for, such as `User:alice`; `User:*` is everybody.
  - id: host
    -orig-id: Host
    type: text(true)
    doc: IP address that the client must come from; `*` is any.
  - id: operation
    -orig-id: Operation
    type: s1
    doc: >-
      What is allowed or denied: 2 all, 3 read, 4 write, 5 create, 6 delete, 7
      alter, 8 describe, 9 cluster action, 10 describe configs, 11 alter
      configs, 12 idempotent write, 13 create tokens, 14 describe tokens, 15
      two-phase commit.
  - id: permission_type
    -orig-id: PermissionType
    type: s1
    doc: Whether it is denied (2) or allowed (3).
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

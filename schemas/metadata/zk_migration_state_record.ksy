meta:
  id: zk_migration_state_record
  title: Kafka ZkMigrationStateRecord (record in __cluster_metadata)
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
-orig-id: ZkMigrationStateRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 21
doc: Progress of a migration from ZooKeeper to KRaft.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ZkMigrationRecord.json ZkMigrationStateRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: zk_migration_state
    -orig-id: ZkMigrationState
    type: s1
    doc: >-
      State: 0 none, 1 migration, 2 pre-migration, 3 post-migration. In Kafka
      3.4, 1 was pre-migration.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

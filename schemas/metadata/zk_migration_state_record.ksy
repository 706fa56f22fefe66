meta:
  id: zk_migration_state_record
  title: Kafka ZkMigrationStateRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 21, topic: __cluster_metadata, flexible: 0+}
doc: Progress of a migration from ZooKeeper to KRaft.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/ZkMigrationRecord.json ZkMigrationStateRecord
params:
  - {id: version, type: s2}
seq:
  - id: zk_migration_state
    type: s1
    doc: >-
      State: 0 none, 1 migration, 2 pre-migration, 3 post-migration. In Kafka
      3.4, 1 was pre-migration.
  - {id: tagged_fields, type: tagged_fields}

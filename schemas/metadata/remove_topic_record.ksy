meta:
  id: remove_topic_record
  title: Kafka RemoveTopicRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/uuid]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 9, topic: __cluster_metadata, flexible: 0+}
doc: A topic was deleted, and all its partitions with it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveTopicRecord.json RemoveTopicRecord
params:
  - {id: version, type: s2}
seq:
  - id: topic_id
    type: uuid
    doc: Id of the topic.
  - {id: tagged_fields, type: tagged_fields}

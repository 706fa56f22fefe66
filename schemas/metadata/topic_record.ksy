meta:
  id: topic_record
  title: Kafka TopicRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/text, ../primitives/uuid]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 2, topic: __cluster_metadata, flexible: 0+}
doc: A topic was created. Its partitions follow, each in its own record.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/TopicRecord.json TopicRecord
params:
  - {id: version, type: s2}
seq:
  - id: name
    type: text(true)
    doc: Name of the topic.
  - id: topic_id
    type: uuid
    doc: >-
      Random id of the topic. A deleted topic that is created again has a new
      id.
  - {id: tagged_fields, type: tagged_fields}

meta:
  id: topic_record
  title: Kafka TopicRecord (record in __cluster_metadata)
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
-orig-id: TopicRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 2
doc: A topic was created. Its partitions follow, each in its own record.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/TopicRecord.json TopicRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: name
    -orig-id: Name
    type: text(true)
    doc: Name of the topic.
  - id: topic_id
    -orig-id: TopicId
    type: uuid
    doc: >-
      Random id of the topic. A deleted topic that is created again has a new
      id.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

meta:
  id: remove_topic_record
  title: Kafka RemoveTopicRecord (record in __cluster_metadata)
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
-orig-id: RemoveTopicRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 9
doc: A topic was deleted, and all its partitions with it.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveTopicRecord.json RemoveTopicRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: topic_id
    -orig-id: TopicId
    type: uuid
    doc: Id of the topic.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

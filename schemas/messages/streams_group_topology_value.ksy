meta:
  id: streams_group_topology_value
  title: Kafka StreamsGroupTopologyValue (value in __consumer_offsets)
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
    - ../primitives/unsigned_varint
  endian: be
-orig-id: StreamsGroupTopologyValue
-versions: 0
-flexible: 0+
-topic: __consumer_offsets
-message:
  kind: coordinator-value
  number: 23
doc: >-
  The broker's view of the topology of a Kafka Streams application: the topics
  that its subtopologies read and write, and the topics that the broker creates.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyValue.json StreamsGroupTopologyValue
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: epoch
    -orig-id: Epoch
    type: s4
    doc: Epoch of the topology, set by the application.
  - id: num_subtopologies_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(subtopologies) + 1
    doc: Number of elements of `subtopologies`, plus one.
  - id: subtopologies
    -orig-id: Subtopologies
    type: subtopology
    repeat: expr
    repeat-expr: num_subtopologies_plus_one.value - 1
    doc: >-
      Parts of the topology that are connected only by topics. A task is one
      subtopology for one partition number.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  subtopology:
    -orig-id: Subtopology
    doc: 'A subtopology: one part of the topology.'
    seq:
      - id: subtopology_id
        -orig-id: SubtopologyId
        type: text(true)
        doc: Id of the subtopology, unique within its topology.
      - id: num_source_topics_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(source_topics) + 1
        doc: Number of elements of `source_topics`, plus one.
      - id: source_topics
        -orig-id: SourceTopics
        type: text(true)
        repeat: expr
        repeat-expr: num_source_topics_plus_one.value - 1
        doc: >-
          Names of the topics that the subtopology reads and the application
          does not create itself.
      - id: num_source_topic_regex_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(source_topic_regex) + 1
        doc: Number of elements of `source_topic_regex`, plus one.
      - id: source_topic_regex
        -orig-id: SourceTopicRegex
        type: text(true)
        repeat: expr
        repeat-expr: num_source_topic_regex_plus_one.value - 1
        doc: Regular expressions of topics that the subtopology reads.
      - id: num_state_changelog_topics_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(state_changelog_topics) + 1
        doc: Number of elements of `state_changelog_topics`, plus one.
      - id: state_changelog_topics
        -orig-id: StateChangelogTopics
        type: topic_info
        repeat: expr
        repeat-expr: num_state_changelog_topics_plus_one.value - 1
        doc: >-
          Changelog topics from which its state stores are restored. The broker
          creates them.
      - id: num_repartition_sink_topics_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(repartition_sink_topics) + 1
        doc: Number of elements of `repartition_sink_topics`, plus one.
      - id: repartition_sink_topics
        -orig-id: RepartitionSinkTopics
        type: text(true)
        repeat: expr
        repeat-expr: num_repartition_sink_topics_plus_one.value - 1
        doc: Names of the repartition topics that the subtopology writes.
      - id: num_repartition_source_topics_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(repartition_source_topics) + 1
        doc: Number of elements of `repartition_source_topics`, plus one.
      - id: repartition_source_topics
        -orig-id: RepartitionSourceTopics
        type: topic_info
        repeat: expr
        repeat-expr: num_repartition_source_topics_plus_one.value - 1
        doc: >-
          Repartition topics that the subtopology reads. The broker creates
          them.
      - id: num_copartition_groups_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(copartition_groups) + 1
        doc: Number of elements of `copartition_groups`, plus one.
      - id: copartition_groups
        -orig-id: CopartitionGroups
        type: copartition_group
        repeat: expr
        repeat-expr: num_copartition_groups_plus_one.value - 1
        doc: Groups of topics that must have the same number of partitions.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  topic_info:
    -orig-id: TopicInfo
    doc: A topic that the broker creates.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: Name of the topic.
      - id: partitions
        -orig-id: Partitions
        type: s4
        doc: >-
          Number of partitions; 0 if the broker derives it, as it does for every
          changelog topic.
      - id: replication_factor
        -orig-id: ReplicationFactor
        type: s2
        doc: Number of replicas; 0 means the broker's default.
      - id: num_topic_configs_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(topic_configs) + 1
        doc: Number of elements of `topic_configs`, plus one.
      - id: topic_configs
        -orig-id: TopicConfigs
        type: topic_config
        repeat: expr
        repeat-expr: num_topic_configs_plus_one.value - 1
        doc: Configuration of the topic.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  topic_config:
    -orig-id: TopicConfig
    doc: One entry of a topic's configuration.
    seq:
      - id: key
        -orig-id: key
        type: text(true)
        doc: Name of the entry, such as `cleanup.policy`.
      - id: value
        -orig-id: value
        type: text(true)
        doc: Value of the entry, as text.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  copartition_group:
    -orig-id: CopartitionGroup
    doc: >-
      Topics that must have the same number of partitions. Each number is an
      index, from 0, in a list of the subtopology.
    seq:
      - id: num_source_topics_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(source_topics) + 1
        doc: Number of elements of `source_topics`, plus one.
      - id: source_topics
        -orig-id: SourceTopics
        type: s2
        repeat: expr
        repeat-expr: num_source_topics_plus_one.value - 1
        doc: Indexes in the subtopology's `source_topics`.
      - id: num_source_topic_regex_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(source_topic_regex) + 1
        doc: Number of elements of `source_topic_regex`, plus one.
      - id: source_topic_regex
        -orig-id: SourceTopicRegex
        type: s2
        repeat: expr
        repeat-expr: num_source_topic_regex_plus_one.value - 1
        doc: Indexes in the subtopology's `source_topic_regex`.
      - id: num_repartition_source_topics_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(repartition_source_topics) + 1
        doc: Number of elements of `repartition_source_topics`, plus one.
      - id: repartition_source_topics
        -orig-id: RepartitionSourceTopics
        type: s2
        repeat: expr
        repeat-expr: num_repartition_source_topics_plus_one.value - 1
        doc: Indexes in the subtopology's `repartition_source_topics`.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.

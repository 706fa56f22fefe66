meta:
  id: streams_group_topology_value
  title: Kafka StreamsGroupTopologyValue (value in __consumer_offsets)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-names: PascalCase
-message:
  kind: coordinator-value
  number: 23
  topic: __consumer_offsets
  flexible: 0+
doc: >-
  The broker's view of the topology of a Kafka Streams application: the topics
  that its subtopologies read and write, and the topics that the broker creates.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/group-coordinator/src/main/resources/common/message/StreamsGroupTopologyValue.json StreamsGroupTopologyValue
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: epoch
    type: s4
    doc: Epoch of the topology, set by the application.
  - {id: num_subtopologies, type: count(true)}
  - id: subtopologies
    type: subtopology
    repeat: expr
    repeat-expr: num_subtopologies.value
    doc: >-
      Parts of the topology that are connected only by topics. A task is one
      subtopology for one partition number.
  - {id: tagged_fields, type: tagged_fields}
types:
  subtopology:
    doc: 'A subtopology: one part of the topology.'
    seq:
      - id: subtopology_id
        type: text(true)
        doc: Id of the subtopology, unique within its topology.
      - {id: num_source_topics, type: count(true)}
      - id: source_topics
        type: text(true)
        repeat: expr
        repeat-expr: num_source_topics.value
        doc: >-
          Names of the topics that the subtopology reads and the application
          does not create itself.
      - {id: num_source_topic_regex, type: count(true)}
      - id: source_topic_regex
        type: text(true)
        repeat: expr
        repeat-expr: num_source_topic_regex.value
        doc: Regular expressions of topics that the subtopology reads.
      - {id: num_state_changelog_topics, type: count(true)}
      - id: state_changelog_topics
        type: topic_info
        repeat: expr
        repeat-expr: num_state_changelog_topics.value
        doc: >-
          Changelog topics from which its state stores are restored. The broker
          creates them.
      - {id: num_repartition_sink_topics, type: count(true)}
      - id: repartition_sink_topics
        type: text(true)
        repeat: expr
        repeat-expr: num_repartition_sink_topics.value
        doc: Names of the repartition topics that the subtopology writes.
      - {id: num_repartition_source_topics, type: count(true)}
      - id: repartition_source_topics
        type: topic_info
        repeat: expr
        repeat-expr: num_repartition_source_topics.value
        doc: >-
          Repartition topics that the subtopology reads. The broker creates
          them.
      - {id: num_copartition_groups, type: count(true)}
      - id: copartition_groups
        type: copartition_group
        repeat: expr
        repeat-expr: num_copartition_groups.value
        doc: Groups of topics that must have the same number of partitions.
      - {id: tagged_fields, type: tagged_fields}
  topic_info:
    doc: A topic that the broker creates.
    seq:
      - id: name
        type: text(true)
        doc: Name of the topic.
      - id: partitions
        type: s4
        doc: >-
          Number of partitions; 0 if the broker derives it, as it does for every
          changelog topic.
      - id: replication_factor
        type: s2
        doc: Number of replicas; 0 means the broker's default.
      - {id: num_topic_configs, type: count(true)}
      - id: topic_configs
        type: topic_config
        repeat: expr
        repeat-expr: num_topic_configs.value
        doc: Configuration of the topic.
      - {id: tagged_fields, type: tagged_fields}
  topic_config:
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
      - {id: tagged_fields, type: tagged_fields}
  copartition_group:
    doc: >-
      Topics that must have the same number of partitions. Each number is an
      index, from 0, in a list of the subtopology.
    seq:
      - {id: num_source_topics, type: count(true)}
      - id: source_topics
        type: s2
        repeat: expr
        repeat-expr: num_source_topics.value
        doc: Indexes in the subtopology's `source_topics`.
      - {id: num_source_topic_regex, type: count(true)}
      - id: source_topic_regex
        type: s2
        repeat: expr
        repeat-expr: num_source_topic_regex.value
        doc: Indexes in the subtopology's `source_topic_regex`.
      - {id: num_repartition_source_topics, type: count(true)}
      - id: repartition_source_topics
        type: s2
        repeat: expr
        repeat-expr: num_repartition_source_topics.value
        doc: Indexes in the subtopology's `repartition_source_topics`.
      - {id: tagged_fields, type: tagged_fields}

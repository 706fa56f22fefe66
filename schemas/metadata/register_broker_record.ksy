meta:
  id: register_broker_record
  title: Kafka RegisterBrokerRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/bool8
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: RegisterBrokerRecord
-versions: 0-4
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 0
doc: >-
  A broker has registered with the controller, for the first time or after a
  restart.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Id of the broker, its `node.id`.
  - id: is_migrating_zk_broker
    -orig-id: IsMigratingZkBroker
    type: bool8
    if: version >= 2
    -since: 2
    doc: >-
      Whether the broker still used ZooKeeper, during a migration to KRaft.
      Never true in Kafka 4.0 and later.
  - id: incarnation_id
    -orig-id: IncarnationId
    type: uuid
    doc: >-
      Random id of this run of the broker process. It changes with each restart.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    type: s8
    doc: >-
      Epoch of the registration: the next offset that the controller writes. A
      later registration has a higher epoch.
  - id: num_end_points_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(end_points) + 1
    doc: Number of elements of `end_points`, plus one.
  - id: end_points
    -orig-id: EndPoints
    type: broker_endpoint
    repeat: expr
    repeat-expr: num_end_points_plus_one.value - 1
    doc: >-
      Addresses at which clients and other brokers reach the broker, one per
      listener.
  - id: num_features_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(features) + 1
    doc: Number of elements of `features`, plus one.
  - id: features
    -orig-id: Features
    type: broker_feature
    repeat: expr
    repeat-expr: num_features_plus_one.value - 1
    doc: Features that the broker supports, each with a range of levels.
  - id: rack
    -orig-id: Rack
    type: nullable_text(true)
    -default: empty
    doc: '`broker.rack` of the broker, or null.'
  - id: fenced
    -orig-id: Fenced
    type: bool8
    -default: true
    doc: >-
      Whether the broker is fenced: it leads no partition, and clients do not
      see it. Every broker starts fenced.
  - id: in_controlled_shutdown
    -orig-id: InControlledShutdown
    type: bool8
    if: version >= 1
    -since: 1
    doc: >-
      Whether the broker is in a controlled shutdown, handing over its
      partitions.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  broker_endpoint:
    -orig-id: BrokerEndpoint
    doc: A listener of the broker.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: Name of the listener.
      - id: host
        -orig-id: Host
        type: text(true)
        doc: Host name or address, as advertised.
      - id: port
        -orig-id: Port
        type: u2
        doc: TCP port.
      - id: security_protocol
        -orig-id: SecurityProtocol
        type: s2
        doc: >-
          Security protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  broker_feature:
    -orig-id: BrokerFeature
    doc: A feature that the broker supports.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: Name of the feature, such as `metadata.version`.
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
        doc: Lowest level of the feature that the broker can run with.
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
        doc: Highest level of the feature that the broker can run with.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  uuid_list:
    -wire: list
    doc: 'Value of a tagged field: a list with its length.'
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        -valid:
          expr: _.value >= 1
        -derive: count_of(items) + 1
        doc: Number of elements, plus one.
      - id: items
        type: uuid
        repeat: expr
        repeat-expr: num_items_plus_one.value - 1
        doc: The elements.
  nullable_uuid_list:
    -wire: list
    doc: 'Value of a tagged field: a list with its length, or null.'
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        -derive: count_of(items) + 1
        doc: Number of elements, plus one. 0 means null.
      - id: items
        type: uuid
        repeat: expr
        repeat-expr: num_items_plus_one.value - 1
        if: num_items_plus_one.value - 1 >= 0
        -nullable: num_items_plus_one.value - 1 == -1
        doc: The elements.
  message_tags:
    -wire: tags
    doc: The tagged-field section.
    seq:
      - id: num_fields
        type: unsigned_varint
        -derive: count_of(fields)
        doc: Number of tagged fields that follow.
      - id: fields
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
        doc: The tagged fields, in ascending order of their tags.
  message_tag:
    doc: One optional field.
    seq:
      - id: tag
        type: unsigned_varint
        doc: Number of the field, unique within its section.
      - id: len_body
        type: unsigned_varint
        -derive: length_of(body)
        doc: Length of `body`, in bytes.
      - id: body
        size: len_body.value
        type:
          switch-on: tag.value.as<s4>
          cases:
            0: uuid_list
            1: nullable_uuid_list
        -tags:
          0:
            id: log_dirs
            -orig-id: LogDirs
            -since: 3
            doc: >-
              Ids of the broker's online log directories (KIP-858). Empty if the
              broker sent none.
          1:
            id: cordoned_log_dirs
            -orig-id: CordonedLogDirs
            -since: 4
            doc: >-
              Ids of the log directories that receive no new replicas
              (KIP-1066). Null until the broker has reported them.
        doc: The field's value. The values of unknown tags are kept as bytes.

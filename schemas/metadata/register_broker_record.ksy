meta:
  id: register_broker_record
  title: Kafka RegisterBrokerRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/bool8
    - ../primitives/count
    - ../primitives/nullable_text
    - ../primitives/nullable_uuid_list
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
    - ../primitives/uuid_list
  endian: be
-names: PascalCase
-versions: 0-4
-message: {kind: metadata, number: 0, topic: __cluster_metadata, flexible: 0+}
doc: >-
  A broker has registered with the controller, for the first time or after a
  restart.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord
params:
  - {id: version, type: s2}
seq:
  - id: broker_id
    type: s4
    doc: Id of the broker, its `node.id`.
  - id: is_migrating_zk_broker
    type: bool8
    if: version >= 2
    doc: >-
      Whether the broker still used ZooKeeper, during a migration to KRaft.
      Never true in Kafka 4.0 and later.
  - id: incarnation_id
    type: uuid
    doc: >-
      Random id of this run of the broker process. It changes with each restart.
  - id: broker_epoch
    type: s8
    doc: >-
      Epoch of the registration: the next offset that the controller writes. A
      later registration has a higher epoch.
  - {id: num_end_points, type: count(true)}
  - id: end_points
    type: broker_endpoint
    repeat: expr
    repeat-expr: num_end_points.value
    doc: >-
      Addresses at which clients and other brokers reach the broker, one per
      listener.
  - {id: num_features, type: count(true)}
  - id: features
    type: broker_feature
    repeat: expr
    repeat-expr: num_features.value
    doc: Features that the broker supports, each with a range of levels.
  - id: rack
    type: nullable_text(true)
    -default: empty
    doc: '`broker.rack` of the broker, or null.'
  - id: fenced
    type: bool8
    -default: true
    doc: >-
      Whether the broker is fenced: it leads no partition, and clients do not
      see it. Every broker starts fenced.
  - id: in_controlled_shutdown
    type: bool8
    if: version >= 1
    doc: >-
      Whether the broker is in a controlled shutdown, handing over its
      partitions.
  - {id: tagged_fields, type: message_tags}
types:
  broker_endpoint:
    doc: A listener of the broker.
    seq:
      - id: name
        type: text(true)
        doc: Name of the listener.
      - id: host
        type: text(true)
        doc: Host name or address, as advertised.
      - id: port
        type: u2
        doc: TCP port.
      - id: security_protocol
        type: s2
        doc: >-
          Security protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
      - {id: tagged_fields, type: tagged_fields}
  broker_feature:
    doc: A feature that the broker supports.
    seq:
      - id: name
        type: text(true)
        doc: Name of the feature, such as `metadata.version`.
      - id: min_supported_version
        type: s2
        doc: Lowest level of the feature that the broker can run with.
      - id: max_supported_version
        type: s2
        doc: Highest level of the feature that the broker can run with.
      - {id: tagged_fields, type: tagged_fields}
  message_tags:
    doc: Optional fields, known and unknown.
    seq:
      - {id: num_fields, type: unsigned_varint}
      - id: fields
        type: message_tag
        repeat: expr
        repeat-expr: num_fields.value
  message_tag:
    seq:
      - {id: tag, type: unsigned_varint}
      - {id: len_body, type: unsigned_varint}
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
            -versions: 3+
            doc: >-
              Ids of the broker's online log directories (KIP-858). Empty if the
              broker sent none.
          1:
            id: cordoned_log_dirs
            -versions: 4+
            doc: >-
              Ids of the log directories that receive no new replicas
              (KIP-1066). Null until the broker has reported them.

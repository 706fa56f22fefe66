meta:
  id: register_controller_record
  title: Kafka RegisterControllerRecord (record in __cluster_metadata)
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
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: RegisterControllerRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 27
doc: A controller has registered with the active controller (KIP-919).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterControllerRecord.json RegisterControllerRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: controller_id
    -orig-id: ControllerId
    type: s4
    doc: Id of the controller, its `node.id`.
  - id: incarnation_id
    -orig-id: IncarnationId
    type: uuid
    doc: >-
      Random id of this run of the controller process. It changes with each
      restart.
  - id: zk_migration_ready
    -orig-id: ZkMigrationReady
    type: bool8
    doc: Whether the controller was configured for a migration from ZooKeeper.
  - id: num_end_points_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(end_points) + 1
    doc: Number of elements of `end_points`, plus one.
  - id: end_points
    -orig-id: EndPoints
    type: controller_endpoint
    repeat: expr
    repeat-expr: num_end_points_plus_one.value - 1
    doc: Addresses of the controller, one per listener.
  - id: num_features_plus_one
    type: unsigned_varint
    -valid:
      expr: _.value >= 1
    -derive: count_of(features) + 1
    doc: Number of elements of `features`, plus one.
  - id: features
    -orig-id: Features
    type: controller_feature
    repeat: expr
    repeat-expr: num_features_plus_one.value - 1
    doc: Features that the controller supports, each with a range of levels.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  controller_endpoint:
    -orig-id: ControllerEndpoint
    doc: A listener of the controller.
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
  controller_feature:
    -orig-id: ControllerFeature
    doc: A feature that the controller supports.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: Name of the feature, such as `metadata.version`.
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
        doc: Lowest level of the feature that the controller can run with.
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
        doc: Highest level of the feature that the controller can run with.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.

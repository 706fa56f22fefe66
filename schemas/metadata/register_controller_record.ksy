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
doc: >-
  Kafka's RegisterControllerRecord: record in __cluster_metadata, number 27 of
  its kind; version 0, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterControllerRecord.json RegisterControllerRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: controller_id
    -orig-id: ControllerId
    type: s4
    doc: An int32.
  - id: incarnation_id
    -orig-id: IncarnationId
    type: uuid
    doc: A uuid; all zeros is none.
  - id: zk_migration_ready
    -orig-id: ZkMigrationReady
    type: bool8
    doc: A bool.
  - id: num_end_points_plus_one
    type: unsigned_varint
    valid:
      expr: _.value >= 1
    -derive: count_of(end_points) + 1
    doc: Number of elements of `end_points`, plus one.
  - id: end_points
    -orig-id: EndPoints
    type: controller_endpoint
    repeat: expr
    repeat-expr: num_end_points_plus_one.value - 1
    doc: An array of `controller_endpoint`.
  - id: num_features_plus_one
    type: unsigned_varint
    valid:
      expr: _.value >= 1
    -derive: count_of(features) + 1
    doc: Number of elements of `features`, plus one.
  - id: features
    -orig-id: Features
    type: controller_feature
    repeat: expr
    repeat-expr: num_features_plus_one.value - 1
    doc: An array of `controller_feature`.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.
types:
  controller_endpoint:
    -orig-id: ControllerEndpoint
    doc: Kafka's ControllerEndpoint.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: A string.
      - id: host
        -orig-id: Host
        type: text(true)
        doc: A string.
      - id: port
        -orig-id: Port
        type: u2
        doc: A uint16.
      - id: security_protocol
        -orig-id: SecurityProtocol
        type: s2
        doc: An int16.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.
  controller_feature:
    -orig-id: ControllerFeature
    doc: Kafka's ControllerFeature.
    seq:
      - id: name
        -orig-id: Name
        type: text(true)
        doc: A string.
      - id: min_supported_version
        -orig-id: MinSupportedVersion
        type: s2
        doc: An int16.
      - id: max_supported_version
        -orig-id: MaxSupportedVersion
        type: s2
        doc: An int16.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.

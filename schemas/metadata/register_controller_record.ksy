meta:
  id: register_controller_record
  title: Kafka RegisterControllerRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/bool8
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/uuid
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 27, topic: __cluster_metadata, flexible: 0+}
doc: A controller has registered with the active controller (KIP-919).
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterControllerRecord.json RegisterControllerRecord
params:
  - {id: version, type: s2}
seq:
  - id: controller_id
    type: s4
    doc: Id of the controller, its `node.id`.
  - id: incarnation_id
    type: uuid
    doc: >-
      Random id of this run of the controller process. It changes with each
      restart.
  - id: zk_migration_ready
    type: bool8
    doc: Whether the controller was configured for a migration from ZooKeeper.
  - {id: num_end_points, type: count(true)}
  - id: end_points
    type: controller_endpoint
    repeat: expr
    repeat-expr: num_end_points.value
    doc: Addresses of the controller, one per listener.
  - {id: num_features, type: count(true)}
  - id: features
    type: controller_feature
    repeat: expr
    repeat-expr: num_features.value
    doc: Features that the controller supports, each with a range of levels.
  - {id: tagged_fields, type: tagged_fields}
types:
  controller_endpoint:
    doc: A listener of the controller.
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
  controller_feature:
    doc: A feature that the controller supports.
    seq:
      - id: name
        type: text(true)
        doc: Name of the feature, such as `metadata.version`.
      - id: min_supported_version
        type: s2
        doc: Lowest level of the feature that the controller can run with.
      - id: max_supported_version
        type: s2
        doc: Highest level of the feature that the controller can run with.
      - {id: tagged_fields, type: tagged_fields}

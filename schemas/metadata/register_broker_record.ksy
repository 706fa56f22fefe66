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
  Kafka's RegisterBrokerRecord: record in __cluster_metadata, number 0 of its
  kind; versions 0-4, flexible.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RegisterBrokerRecord.json RegisterBrokerRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: An int32.
  - id: is_migrating_zk_broker
    -orig-id: IsMigratingZkBroker
    type: bool8
    if: version >= 2
    -since: 2
    doc: A bool.
  - id: incarnation_id
    -orig-id: IncarnationId
    type: uuid
    doc: A uuid; all zeros is none.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    type: s8
    doc: An int64.
  - id: num_end_points_plus_one
    type: unsigned_varint
    valid:
      expr: _.value >= 1
    -derive: count_of(end_points) + 1
    doc: Number of elements of `end_points`, plus one.
  - id: end_points
    -orig-id: EndPoints
    type: broker_endpoint
    repeat: expr
    repeat-expr: num_end_points_plus_one.value - 1
    doc: An array of `broker_endpoint`.
  - id: num_features_plus_one
    type: unsigned_varint
    valid:
      expr: _.value >= 1
    -derive: count_of(features) + 1
    doc: Number of elements of `features`, plus one.
  - id: features
    -orig-id: Features
    type: broker_feature
    repeat: expr
    repeat-expr: num_features_plus_one.value - 1
    doc: An array of `broker_feature`.
  - id: rack
    -orig-id: Rack
    type: nullable_text(true)
    -default: empty
    doc: A string, or null.
  - id: fenced
    -orig-id: Fenced
    type: bool8
    -default: true
    doc: A bool.
  - id: in_controlled_shutdown
    -orig-id: InControlledShutdown
    type: bool8
    if: version >= 1
    -since: 1
    doc: A bool.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
  broker_endpoint:
    -orig-id: BrokerEndpoint
    doc: Kafka's BrokerEndpoint.
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
  broker_feature:
    -orig-id: BrokerFeature
    doc: Kafka's BrokerFeature.
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
  uuid_list:
    -wire: list
    doc: An array of uuid.
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        valid:
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
    doc: An array of uuid, or null.
    seq:
      - id: num_items_plus_one
        type: unsigned_varint
        -derive: count_of(items) + 1
        doc: Number of elements, plus one. 0 is null.
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
            doc: An array of uuid.
          1:
            id: cordoned_log_dirs
            -orig-id: CordonedLogDirs
            -since: 4
            doc: An array of uuid, or null.
        doc: >-
          The field's value. A tag that is not known here gives bytes, which are
          kept.

meta:
  id: broker_registration_change_record
  title: Kafka BrokerRegistrationChangeRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports:
    - ../primitives/int8_value
    - ../primitives/nullable_uuid_list
    - ../primitives/unsigned_varint
    - ../primitives/uuid_list
  endian: be
-names: PascalCase
-versions: 0-3
-message: {kind: metadata, number: 17, topic: __cluster_metadata, flexible: 0+}
doc: >-
  Changes of a broker's registration. An absent tagged field leaves the value
  unchanged.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord
params:
  - {id: version, type: s2}
seq:
  - id: broker_id
    type: s4
    doc: Id of the broker.
  - id: broker_epoch
    type: s8
    doc: Epoch of the changed registration.
  - {id: tagged_fields, type: message_tags}
types:
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
            0: int8_value
            1: int8_value
            2: uuid_list
            3: nullable_uuid_list
        -tags:
          0:
            id: fenced
            doc: >-
              1 if the broker is now fenced, -1 if it is no longer fenced, 0 if
              unchanged.
          1:
            id: in_controlled_shutdown
            -versions: 1+
            doc: >-
              1 if the broker has started a controlled shutdown, 0 if unchanged.
              Only a new registration ends this state.
          2:
            id: log_dirs
            -versions: 2+
            doc: >-
              Ids of the broker's online log directories (KIP-858). Empty if
              unchanged.
          3:
            id: cordoned_log_dirs
            -versions: 3+
            doc: >-
              Ids of the log directories that now receive no new replicas
              (KIP-1066). Null if unchanged.

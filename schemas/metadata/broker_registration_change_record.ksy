meta:
  id: broker_registration_change_record
  title: Kafka BrokerRegistrationChangeRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/unsigned_varint
    - ../primitives/uuid
  endian: be
-orig-id: BrokerRegistrationChangeRecord
-versions: 0-3
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 17
doc: >-
  Changes of a broker's registration. An absent tagged field leaves the value
  unchanged.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BrokerRegistrationChangeRecord.json BrokerRegistrationChangeRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: broker_id
    -orig-id: BrokerId
    type: s4
    doc: Id of the broker.
  - id: broker_epoch
    -orig-id: BrokerEpoch
    type: s8
    doc: Epoch of the changed registration.
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
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
  int8_value:
    -wire: value
    doc: 'Value of a tagged field: one number.'
    seq:
      - id: value
        type: s1
        doc: The number.
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
            0: int8_value
            1: int8_value
            2: uuid_list
            3: nullable_uuid_list
        -tags:
          0:
            id: fenced
            -orig-id: Fenced
            doc: >-
              1 if the broker is now fenced, -1 if it is no longer fenced, 0 if
              unchanged.
          1:
            id: in_controlled_shutdown
            -orig-id: InControlledShutdown
            -since: 1
            doc: >-
              1 if the broker has started a controlled shutdown, 0 if unchanged.
              Only a new registration ends this state.
          2:
            id: log_dirs
            -orig-id: LogDirs
            -since: 2
            doc: >-
              Ids of the broker's online log directories (KIP-858). Empty if
              unchanged.
          3:
            id: cordoned_log_dirs
            -orig-id: CordonedLogDirs
            -since: 3
            doc: >-
              Ids of the log directories that now receive no new replicas
              (KIP-1066). Null if unchanged.
        doc: The field's value. The values of unknown tags are kept as bytes.

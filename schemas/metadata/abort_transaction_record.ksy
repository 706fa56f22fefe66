meta:
  id: abort_transaction_record
  title: Kafka AbortTransactionRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/nullable_text
    - ../primitives/unsigned_varint
  endian: be
-orig-id: AbortTransactionRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 25
doc: 'Aborts the metadata transaction: its records have no effect.'
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/AbortTransactionRecord.json AbortTransactionRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: tagged_fields
    type: message_tags
    doc: Optional fields, known and unknown.
types:
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
            0: nullable_text(true)
        -tags:
          0:
            id: reason
            -orig-id: Reason
            doc: Reason for the abort, as text, or null.
        doc: The field's value. The values of unknown tags are kept as bytes.

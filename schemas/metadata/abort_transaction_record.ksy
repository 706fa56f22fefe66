meta:
  id: abort_transaction_record
  title: Kafka AbortTransactionRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/nullable_text, ../primitives/unsigned_varint]
  endian: be
-names: camelCase
-versions: 0
-message: {kind: metadata, number: 25, topic: __cluster_metadata, flexible: 0+}
doc: 'Aborts the metadata transaction: its records have no effect.'
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/AbortTransactionRecord.json AbortTransactionRecord
params:
  - {id: version, type: s2}
seq:
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
            0: nullable_text(true)
        -tags:
          0:
            id: reason
            -orig-id: Reason
            doc: Reason for the abort, as text, or null.

meta:
  id: begin_transaction_record
  title: Kafka BeginTransactionRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/nullable_text, ../primitives/unsigned_varint]
  endian: be
-names: camelCase
-versions: 0
-message: {kind: metadata, number: 23, topic: __cluster_metadata, flexible: 0+}
doc: >-
  Begins a metadata transaction (KIP-868): the records up to its end take effect
  together, or not at all.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/BeginTransactionRecord.json BeginTransactionRecord
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
            id: name
            -orig-id: Name
            doc: Purpose of the transaction, as text, or null.

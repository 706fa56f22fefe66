meta:
  id: tagged_fields
  title: Kafka tagged-field section
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - unsigned_varint
doc: |
  The optional fields at the end of every structure of a flexible message
  version. This is the section of a structure that defines no tags: all its
  fields are unknown, and are kept as bytes so that they can be written back
  unchanged.
doc-ref: >-
  https://cwiki.apache.org/confluence/display/KAFKA/KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields
  KIP-482
seq:
  - id: num_fields
    type: unsigned_varint
    doc: Number of tagged fields that follow; 0 if there are none.
  - id: fields
    type: tagged_field
    repeat: expr
    repeat-expr: num_fields.value
    doc: The tagged fields, in ascending order of their tags.
types:
  tagged_field:
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
        -tags: {}
        doc: The field's value, encoded. Never null.

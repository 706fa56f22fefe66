meta:
  id: nullable_uuid_list
  title: Kafka list of a tagged field, of uuid
  license: Apache-2.0
  imports:
    - nullable_count
    - uuid
  endian: be
-unwrap: items
doc: 'Value of a tagged field: a list with its length, or null.'
doc-ref: https://cwiki.apache.org/confluence/display/KAFKA/KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields KIP-482
seq:
  - {id: num_items, type: nullable_count(true)}
  - id: items
    type: uuid
    repeat: expr
    repeat-expr: num_items.value
    if: num_items.value >= 0
    -nullable: true
    doc: The elements.

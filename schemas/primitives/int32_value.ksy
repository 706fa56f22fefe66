meta:
  id: int32_value
  title: Kafka number of a tagged field, int32
  license: Apache-2.0
  endian: be
-unwrap: value
doc: 'Value of a tagged field: one number.'
doc-ref: https://cwiki.apache.org/confluence/display/KAFKA/KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields KIP-482
seq:
  - id: value
    type: s4
    doc: The number.

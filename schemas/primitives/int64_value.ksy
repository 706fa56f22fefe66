meta:
  id: int64_value
  title: Kafka number of a tagged field, int64
  license: Apache-2.0
  endian: be
-unwrap: value
doc: 'Value of a tagged field: one number.'
doc-ref: https://cwiki.apache.org/confluence/display/KAFKA/KIP-482%3A+The+Kafka+Protocol+should+Support+Optional+Tagged+Fields KIP-482
seq:
  - id: value
    type: s8
    doc: The number.

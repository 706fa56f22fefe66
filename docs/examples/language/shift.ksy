meta:
  id: shift
  endian: be
  imports: [primitives/text, primitives/nullable_text, primitives/nullable_count, primitives/unsigned_varint]
-names: PascalCase
-message: {kind: request, number: 99, flexible: 2+}
doc: A message of Kafka's kind, in three versions. The last one is compact and has tagged fields.
seq:
  - {id: version, type: s2, valid: {min: 0, max: 2}}
  - {id: name, type: text(version >= 2)}
  - {id: num_replicas, type: nullable_count(version >= 2)}
  - {id: replicas, type: s4, repeat: expr, repeat-expr: num_replicas.value, if: num_replicas.value >= 0, -nullable: 1+}
  - {id: deadline, type: s8, if: version >= 1, -ignorable: true, -default: -1}
  - {id: tagged_fields, type: tagged_section, if: version >= 2}
types:
  tagged_section:
    seq:
      - {id: num_fields, type: unsigned_varint}
      - {id: fields, type: tagged_field, repeat: expr, repeat-expr: num_fields.value}
  tagged_field:
    seq:
      - {id: tag, type: unsigned_varint}
      - {id: len_body, type: unsigned_varint}
      - id: body
        size: len_body.value
        type: {switch-on: tag.value.as<s4>, cases: {0: nullable_text(true)}}
        -tags: {0: {id: rack, -default: empty}}

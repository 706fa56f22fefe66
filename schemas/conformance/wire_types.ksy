meta:
  id: wire_types
  title: Kafka protocol primitive types
  application: Apache Kafka
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/blob
    - ../primitives/bool8
    - ../primitives/nullable_blob
    - ../primitives/nullable_text
    - ../primitives/tagged_fields
    - ../primitives/text
    - ../primitives/unsigned_varint
    - ../primitives/uuid
    - ../primitives/varint
    - ../primitives/varlong
  endian: be
doc: |
  Kafka's primitive types, each in a type of its own, for test vectors. No
  message of Kafka has these types.
doc-ref: https://kafka.apache.org/protocol.html#protocol_types Protocol Primitive Types
seq:
  - id: flag
    type: bool8
    doc: BOOLEAN of the protocol.
  - id: identity
    type: uuid
    doc: UUID of the protocol.
types:
  one_varint:
    doc: 'VARINT of the protocol: 32 bits, zigzag-encoded.'
    seq:
      - id: number
        type: varint
        doc: The number.
  one_varlong:
    doc: 'VARLONG of the protocol: 64 bits, zigzag-encoded.'
    seq:
      - id: number
        type: varlong
        doc: The number.
  one_unsigned_varint:
    doc: 'UNSIGNED_VARINT of the protocol: 32 bits.'
    seq:
      - id: number
        type: unsigned_varint
        doc: The number.
  classic:
    doc: Strings with a 16-bit length and bytes with a 32-bit length.
    seq:
      - id: name
        type: text(false)
        doc: STRING of the protocol.
      - id: note
        type: nullable_text(false)
        doc: NULLABLE_STRING of the protocol.
      - id: data
        type: blob(false)
        doc: BYTES of the protocol.
      - id: more
        type: nullable_blob(false)
        doc: NULLABLE_BYTES of the protocol.
  compact:
    doc: |
      Strings and bytes whose length plus one is an unsigned varint, and a
      section of tagged fields.
    seq:
      - id: name
        type: text(true)
        doc: COMPACT_STRING of the protocol.
      - id: note
        type: nullable_text(true)
        doc: COMPACT_NULLABLE_STRING of the protocol.
      - id: data
        type: blob(true)
        doc: COMPACT_BYTES of the protocol.
      - id: more
        type: nullable_blob(true)
        doc: COMPACT_NULLABLE_BYTES of the protocol.
      - id: tagged_fields
        type: tagged_fields
        doc: Optional fields. None is defined; unknown ones are kept.

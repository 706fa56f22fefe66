meta:
  id: confluent_value
  title: Key or value framed for a Confluent schema registry
  application: Confluent Schema Registry
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/uuid
  endian: be
doc: |
  A key or value as Confluent's serializers for Avro and JSON Schema write it:
  the id of its schema, then the data. The serializer for Protobuf writes a
  `confluent_protobuf_value`.

  A serializer can put the id into a record header instead, named
  `__key_schema_id` or `__value_schema_id`: the header then has these bytes with
  an empty `payload` and `magic` 1, and the key or value has no framing.
doc-ref: >-
  https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
  Wire format
seq:
  - id: magic
    type: u1
    valid:
      any-of: [0, 1]
    -default: 0
    doc: |
      Kind of the id that follows: 0 is the schema's number in the registry, 1
      is a GUID. Other values are not used; older readers reject all values but
      0.
  - id: schema
    type:
      switch-on: magic
      cases:
        0: schema_number
        1: schema_guid
    doc: Number or GUID of the schema.
  - id: payload
    size-eos: true
    doc: The data, in the format of the schema.
types:
  schema_number:
    doc: A schema, by its number in one registry.
    seq:
      - id: number
        type: s4
        doc: Positive number of the schema in the registry.
  schema_guid:
    doc: A schema, by an id that is the same in all registries.
    seq:
      - id: guid
        type: uuid
        doc: GUID of the schema.

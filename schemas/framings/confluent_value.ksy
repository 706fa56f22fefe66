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
  A key or a value as Confluent's serializers for Avro and JSON Schema write
  it: which schema it was written with, then the data themselves. That of
  Protobuf is `confluent_protobuf_value`.

  A serializer can put the id into a record's header instead, under the name
  `__key_schema_id` or `__value_schema_id`: the header then has these bytes
  with an empty `payload` and `magic` 1, and the value has no framing.
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
      Which id follows: 0 the registry's number, 1 a GUID. Other values are not
      in use; older readers refuse everything but 0.
  - id: schema
    type:
      switch-on: magic
      cases:
        0: schema_number
        1: schema_guid
    doc: The schema, by its number or its GUID.
  - id: payload
    size-eos: true
    doc: The data in the format that the schema is of.
types:
  schema_number:
    doc: A schema as one registry knows it.
    seq:
      - id: number
        type: s4
        doc: Number of the schema in the registry, positive.
  schema_guid:
    doc: A schema as every registry knows it.
    seq:
      - id: guid
        type: uuid
        doc: GUID of the schema.

meta:
  id: apicurio_value
  title: Key or value framed for an Apicurio registry, with an id of 8 bytes
  application: Apicurio Registry
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  A key or a value as serializers of Apicurio Registry 2 write it where the id
  is not in headers, and those of Apicurio Registry 3 with
  `Legacy8ByteIdHandler`. With ids of 4 bytes, as in Apicurio Registry 3 where
  nothing else is said, it is a `confluent_value` of magic 0.

  Nothing in the bytes says which of the two it is.
doc-ref: >-
  https://www.apicur.io/registry/docs/apicurio-registry/2.6.x/getting-started/assembly-configuring-kafka-client-serdes.html
  Configuring Kafka serializers and deserializers
seq:
  - id: magic
    type: u1
    valid: 0
    -default: 0
    doc: Always 0.
  - id: schema_id
    type: s8
    doc: |
      The schema's global id, or its content id, as the serializer is
      configured.
  - id: payload
    size-eos: true
    doc: |
      The data in the format that the schema is of. For Protobuf there is a
      message of its own before them, which names the message's type.

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
  A key or value as serializers of Apicurio Registry 2 write it if the id is not
  in a header, and serializers of Apicurio Registry 3 if they use
  `Legacy8ByteIdHandler`. With 4-byte ids, the default of Apicurio Registry 3,
  the framing is that of a `confluent_value` with magic 0.

  The bytes do not show which of the two framings was used.
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
      Global id or content id of the schema, depending on the configuration of
      the serializer.
  - id: payload
    size-eos: true
    doc: |
      The data, in the format of the schema. Protobuf data starts with another
      Protobuf message, which names the type of the message.

meta:
  id: apicurio_id_header
  title: Schema id in a record header, for an Apicurio registry
  application: Apicurio Registry
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  Id of a schema, as the value of a record header: `globalId` or `contentId`
  after the prefix `apicurio.value.` or `apicurio.key.`. The record's value or
  key then has no framing.

  All other headers of Apicurio are UTF-8 text: `.groupId`, `.artifactId`,
  `.version` and `.contentHash` identify a schema, `.encoding` is the encoding
  of Avro data (`BINARY` or `JSON`), and `.msgType` is the type of a Protobuf or
  JSON message.
doc-ref: >-
  https://www.apicur.io/registry/docs/apicurio-registry/2.6.x/getting-started/assembly-configuring-kafka-client-serdes.html
  Configuring Kafka serializers and deserializers
seq:
  - id: schema_id
    type: s8
    doc: Global id or content id of the schema, depending on the header.

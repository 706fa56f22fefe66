meta:
  id: apicurio_id_header
  title: Id of a schema in a header of a record, for an Apicurio registry
  application: Apicurio Registry
  xref:
    wikidata: Q16235208
  tags:
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  endian: be
doc: |
  The value of a record's header `apicurio.value.globalId` or
  `apicurio.value.contentId`, or of those that begin with `apicurio.key.`: the
  id of the schema. The value of the record then has no framing.

  All other headers of Apicurio hold text in UTF-8: `.groupId`, `.artifactId`,
  `.version` and `.contentHash` name a schema, `.encoding` is the encoding of
  Avro data (`BINARY` or `JSON`), and `.msgType` the type of a Protobuf or JSON
  message.
doc-ref: >-
  https://www.apicur.io/registry/docs/apicurio-registry/2.6.x/getting-started/assembly-configuring-kafka-client-serdes.html
  Configuring Kafka serializers and deserializers
seq:
  - id: schema_id
    type: s8
    doc: The global id, or the content id.

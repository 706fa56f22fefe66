meta:
  id: glue_value
  title: Key or value framed for the AWS Glue Schema Registry
  application: AWS Glue Schema Registry
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
  A key or a value as serializers for the AWS Glue Schema Registry write it: 18
  bytes that say how it is compressed and which schema it was written with,
  then the data.
doc-ref: https://github.com/awslabs/aws-glue-schema-registry AWS Glue Schema Registry Library
seq:
  - id: header_version
    type: u1
    valid: 3
    -default: 3
    doc: Version of the framing. Only 3 is in use.
  - id: compression
    type: u1
    enum: compression
    valid:
      any-of: [compression::none, compression::zlib]
    -default: none
    doc: How `payload` is compressed.
  - id: schema_version_id
    type: uuid
    doc: Id of the version of the schema.
  - id: payload
    size-eos: true
    doc: |
      The data in the format that the schema is of, as they are stored: a zlib
      stream (RFC 1950) where `compression` says so.
enums:
  compression:
    0:
      id: none
      doc: Not compressed.
    5:
      id: zlib
      doc: One zlib stream.

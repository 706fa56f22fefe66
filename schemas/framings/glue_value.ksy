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
  A key or value as serializers for the AWS Glue Schema Registry write it: a
  header of 18 bytes with the compression and the id of the schema, then the
  data.
doc-ref: https://github.com/awslabs/aws-glue-schema-registry AWS Glue Schema Registry Library
seq:
  - id: header_version
    type: u1
    valid: 3
    -default: 3
    doc: Version of the framing. Only 3 is used.
  - id: compression
    type: u1
    enum: compression
    valid:
      any-of: [compression::none, compression::zlib]
    -default: none
    doc: Compression of `payload`.
  - id: schema_version_id
    type: uuid
    doc: UUID of the schema version.
  - id: payload
    size-eos: true
    doc: |
      The data as stored, in the format of the schema; a zlib stream (RFC 1950)
      if `compression` is `zlib`.
enums:
  compression:
    0:
      id: none
      doc: Not compressed.
    5:
      id: zlib
      doc: One zlib stream.

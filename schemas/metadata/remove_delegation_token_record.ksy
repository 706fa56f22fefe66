meta:
  id: remove_delegation_token_record
  title: Kafka RemoveDelegationTokenRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/text]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 26, topic: __cluster_metadata, flexible: 0+}
doc: A delegation token was removed because it expired or on request.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveDelegationTokenRecord.json RemoveDelegationTokenRecord
params:
  - {id: version, type: s2}
seq:
  - id: token_id
    type: text(true)
    doc: Id of the token.
  - {id: tagged_fields, type: tagged_fields}

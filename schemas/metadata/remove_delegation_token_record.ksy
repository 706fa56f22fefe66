meta:
  id: remove_delegation_token_record
  title: Kafka RemoveDelegationTokenRecord (record in __cluster_metadata)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-orig-id: RemoveDelegationTokenRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 26
doc: A delegation token was removed because it expired or on request.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveDelegationTokenRecord.json RemoveDelegationTokenRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: token_id
    -orig-id: TokenId
    type: text(true)
    doc: Id of the token.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

meta:
  id: remove_user_scram_credential_record
  title: Kafka RemoveUserScramCredentialRecord (record in __cluster_metadata)
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
-orig-id: RemoveUserScramCredentialRecord
-versions: 0
-flexible: 0+
-topic: __cluster_metadata
-message:
  kind: metadata
  number: 22
doc: A SCRAM credential of a user was removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveUserScramCredentialRecord.json RemoveUserScramCredentialRecord
params:
  - id: version
    type: s2
    doc: Version of the message.
seq:
  - id: name
    -orig-id: Name
    type: text(true)
    doc: Name of the user.
  - id: mechanism
    -orig-id: Mechanism
    type: s1
    doc: 'Mechanism of the credential: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.'
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

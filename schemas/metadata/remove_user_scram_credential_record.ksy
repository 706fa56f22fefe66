meta:
  id: remove_user_scram_credential_record
  title: Kafka RemoveUserScramCredentialRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/tagged_fields, ../primitives/text]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 22, topic: __cluster_metadata, flexible: 0+}
doc: A SCRAM credential of a user was removed.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/RemoveUserScramCredentialRecord.json RemoveUserScramCredentialRecord
params:
  - {id: version, type: s2}
seq:
  - id: name
    type: text(true)
    doc: Name of the user.
  - id: mechanism
    type: s1
    doc: 'Mechanism of the credential: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.'
  - {id: tagged_fields, type: tagged_fields}

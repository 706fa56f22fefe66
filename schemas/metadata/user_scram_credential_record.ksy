meta:
  id: user_scram_credential_record
  title: Kafka UserScramCredentialRecord (record in __cluster_metadata)
  license: Apache-2.0
  imports: [../primitives/blob, ../primitives/tagged_fields, ../primitives/text]
  endian: be
-names: PascalCase
-versions: 0
-message: {kind: metadata, number: 11, topic: __cluster_metadata, flexible: 0+}
doc: >-
  A SCRAM credential of a user (RFC 5802) was set. It does not contain the
  password.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/metadata/src/main/resources/common/metadata/UserScramCredentialRecord.json UserScramCredentialRecord
params:
  - {id: version, type: s2}
seq:
  - id: name
    type: text(true)
    doc: Name of the user.
  - id: mechanism
    type: s1
    doc: 'Mechanism: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.'
  - id: salt
    type: blob(true)
    doc: Random bytes that were hashed with the password.
  - id: stored_key
    type: blob(true)
    doc: >-
      Hash of the client key, with which the broker verifies the client's proof.
  - id: server_key
    type: blob(true)
    doc: >-
      Server key, with which the broker proves to the client that it knows the
      credential.
  - id: iterations
    type: s4
    doc: Number of hash iterations, 4096 to 16384.
  - {id: tagged_fields, type: tagged_fields}

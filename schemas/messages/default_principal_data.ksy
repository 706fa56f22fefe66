meta:
  id: default_principal_data
  title: Kafka DefaultPrincipalData (data)
  license: Apache-2.0
  imports:
    - ../primitives/bool8
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-names: PascalCase
-message: {flexible: 0+}
doc: >-
  A principal as Kafka's default principal builder serializes it. A broker sends
  it with each request that it forwards to the controller.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/DefaultPrincipalData.json DefaultPrincipalData
seq:
  - {id: version, type: s2, valid: {min: 0, max: 0}}
  - id: principal_type
    -orig-id: Type
    type: text(true)
    doc: Type of the principal; the default builder sets `User`.
  - id: name
    type: text(true)
    doc: Name of the principal.
  - id: token_authenticated
    type: bool8
    doc: >-
      Whether the client authenticated with a delegation token at the forwarding
      broker.
  - {id: tagged_fields, type: tagged_fields}

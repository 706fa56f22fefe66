meta:
  id: default_principal_data
  title: Kafka DefaultPrincipalData (data)
  application: Apache Kafka
  xref:
    wikidata: Q16235208
  tags:
    - log
    - serialization
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - ../primitives/bool8
    - ../primitives/tagged_fields
    - ../primitives/text
  endian: be
-orig-id: DefaultPrincipalData
-versions: 0
-flexible: 0+
doc: >-
  A principal as Kafka's default principal builder serializes it. A broker sends
  it with each request that it forwards to the controller.
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/DefaultPrincipalData.json DefaultPrincipalData
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: principal_type
    -orig-id: Type
    type: text(true)
    doc: Type of the principal; the default builder sets `User`.
  - id: name
    -orig-id: Name
    type: text(true)
    doc: Name of the principal.
  - id: token_authenticated
    -orig-id: TokenAuthenticated
    type: bool8
    doc: >-
      Whether the client authenticated with a delegation token at the forwarding
      broker.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

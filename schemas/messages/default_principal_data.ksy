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
doc: 'Kafka''s DefaultPrincipalData: data; version 0, flexible.'
doc-ref: https://github.com/apache/kafka/blob/4.4.0/clients/src/main/resources/common/message/DefaultPrincipalData.json DefaultPrincipalData
seq:
  - id: version
    type: s2
    valid:
      min: 0
      max: 0
    doc: Version of the message.
  - id: type
    -orig-id: Type
    type: text(true)
    doc: A string.
  - id: name
    -orig-id: Name
    type: text(true)
    doc: A string.
  - id: token_authenticated
    -orig-id: TokenAuthenticated
    type: bool8
    doc: A bool.
  - id: tagged_fields
    type: tagged_fields
    doc: Optional fields. None is defined; unknown ones are kept.

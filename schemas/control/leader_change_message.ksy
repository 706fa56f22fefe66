meta:
  id: leader_change_message
  title: Kafka LeaderChangeMessage (value of a control record)
  license: Apache-2.0
  imports:
    - ../primitives/count
    - ../primitives/tagged_fields
    - ../primitives/uuid
  endian: be
-names: PascalCase
-message: {flexible: 0+}
doc: |
  Value of the control record that a newly elected KRaft leader writes first
  (KIP-595). All versions are flexible. The version is the first field of the
  message itself, not a prefix.
doc-ref: https://github.com/apache/kafka/blob/4.1.0/clients/src/main/resources/common/message/LeaderChangeMessage.json LeaderChangeMessage
seq:
  - id: version
    -orig-id: Version
    type: s2
    valid: {min: 0, max: 1}
    -default: 0
    doc: |
      Version of the message. Version 1 adds directory IDs (KIP-853); Kafka
      still writes 0.
  - id: leader_id
    type: s4
    doc: Node ID of the newly elected leader.
  - {id: num_voters, type: count(true)}
  - id: voters
    type: voter(version)
    repeat: expr
    repeat-expr: num_voters.value
    doc: The voters of the quorum in this epoch. May be empty, never null.
  - {id: num_granting_voters, type: count(true)}
  - id: granting_voters
    type: voter(version)
    repeat: expr
    repeat-expr: num_granting_voters.value
    doc: |
      The voters that voted for the leader. May be empty, never null.
  - {id: tagged_fields, type: tagged_fields}
types:
  voter:
    -versions: 0-1
    doc: A voter of the quorum.
    params:
      - {id: version, type: s2}
    seq:
      - id: voter_id
        type: s4
        doc: Node ID of the voter.
      - id: voter_directory_id
        type: uuid
        if: version >= 1
        doc: |
          Directory ID of the voter; all zeros means unknown. Absent before
          version 1.
      - {id: tagged_fields, type: tagged_fields}

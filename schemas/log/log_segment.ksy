meta:
  id: log_segment
  title: Kafka log segment
  application: Apache Kafka
  file-extension: log
  xref:
    wikidata: Q16235208
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - message_set
    - record_batch
  endian: be
doc: |
  A segment of a partition's log: a sequence of entries, without a file header.
  An entry is a message of magic 0 or 1, or a record batch of magic 2; one file
  can contain all three. The file is named after the segment's base offset, in
  20 decimal digits.

  The segment that a broker is writing, or was writing when it crashed, may end
  with an incomplete entry or with zeros. This schema describes complete entries
  only.
doc-ref: https://kafka.apache.org/documentation/#log Log
seq:
  - id: entries
    type: entry
    repeat: eos
    doc: The entries, in ascending order of their offsets.
types:
  entry:
    doc: |
      One message or one record batch. All three formats have the length in
      bytes 8 to 11 and the magic in byte 16, which are read ahead of the entry.
    seq:
      - id: body
        size: len_entry
        type:
          switch-on: magic
          cases:
            0: message_set::entry
            1: message_set::entry
            2: record_batch
        doc: The entry, from its offset to its last byte.
    instances:
      base_offset:
        pos: _io.pos
        type: s8
        doc: |
          Offset of the message, or base offset of the batch, read ahead of the
          entry. Readers that compute instances on demand, as those of ksc do,
          cannot compute it after the entry; use the offset in `body` then.
      len_body:
        pos: _io.pos + 8
        type: s4
        doc: Length of the entry in bytes, without its first 12 bytes.
      magic:
        pos: _io.pos + 16
        type: s1
        doc: Version of the entry format.
      len_entry:
        value: (len_body.as<s8> + (12).as<s8>).as<s8>
        doc: Length of the whole entry, in bytes.

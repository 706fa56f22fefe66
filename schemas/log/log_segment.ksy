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
  A segment of a partition's log: entries one after another, with no header of
  the file itself. An entry is one message of magic 0 or 1, or one record batch
  of magic 2, and one file may mix them. The file's name is the segment's base
  offset in 20 decimal digits.

  A segment that a broker is writing, or that it left behind in a crash, may
  end in a part of an entry or in zeros. This description is of whole entries.
doc-ref: https://kafka.apache.org/documentation/#log Log
seq:
  - id: entries
    type: entry
    repeat: eos
    doc: The entries, in ascending order of their offsets.
types:
  entry:
    doc: |
      One message or one record batch. The three formats agree on the length
      in bytes 8 to 11 and on the magic in byte 16, which are looked at before
      the entry is read.
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
          Offset of the message, or the batch's base offset, before the entry
          is read. Where instances are computed on demand, as in ksc's readers,
          it is not known afterwards: ask `body` for it then.
      len_body:
        pos: _io.pos + 8
        type: s4
        doc: Length of the entry after its first 12 bytes, in bytes.
      magic:
        pos: _io.pos + 16
        type: s1
        doc: Version of the entry's format.
      len_entry:
        value: (len_body.as<s8> + (12).as<s8>).as<s8>
        doc: Length of the whole entry, in bytes.

meta:
  id: redpanda_segment
  title: Redpanda log segment
  application: Redpanda
  file-extension: log
  tags:
    - log
  license: Apache-2.0
  ks-version: '0.10'
  imports:
    - redpanda_batch
  endian: le
doc: |
  A segment of a partition's log: batches, without a file header. The segment
  that is written to may end with an incomplete batch or with zeros. This schema
  describes complete batches only.
doc-ref: >-
  https://github.com/redpanda-data/redpanda/blob/dev/src/v/storage/parser.h
  parser
seq:
  - id: batches
    type: redpanda_batch
    repeat: eos
    doc: The batches, in ascending order of their offsets.

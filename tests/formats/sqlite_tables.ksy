meta:
  id: sqlite_tables
  title: Rows of all tables of an SQLite database
  file-extension: [sqlite, db]
  license: Apache-2.0
  encoding: UTF-8
  endian: be
doc: |
  All pages of a database file, and of those that hold rows of tables (leaves of table B-trees) the rows. The
  other pages - inner ones, indexes, free ones, overflow - are raw bytes. It can be read only at rest: what a
  write-ahead log holds is not in the file, and pages that were freed may still look like leaves.
doc-ref: https://www.sqlite.org/fileformat2.html
seq:
  - id: pages
    type: page(_index)
    size: len_page
    repeat: eos
instances:
  len_page_given:
    pos: 16
    type: u2
  len_reserved:
    pos: 20
    type: u1
  len_page:
    value: 'len_page_given == 1 ? 65536 : len_page_given'
types:
  page:
    params:
      - id: index
        type: u4
    seq:
      - id: file_header
        size: 100
        if: index == 0
      - id: kind
        type: u1
        enum: page_kind
      - id: leaf
        type: leaf
        if: kind == page_kind::table_leaf
  leaf:
    seq:
      - id: first_freeblock
        type: u2
      - id: num_cells
        type: u2
      - id: ofs_cells
        type: u2
      - id: num_fragmented
        type: u1
      - id: cells
        type: cell
        repeat: expr
        repeat-expr: num_cells
  cell:
    seq:
      - id: ofs_row
        type: u2
    instances:
      row:
        pos: ofs_row
        type: row
  row:
    seq:
      - id: len_payload
        type: varint
      - id: id
        type: varint
        doc: The rowid.
      - id: record
        type: record
        size: len_payload.value
        if: len_payload.value <= _root.len_page - _root.len_reserved - 35
        doc: What is longer goes on in overflow pages, which are not followed.
  record:
    seq:
      - id: len_header
        type: varint
      - id: header
        type: header
        size: len_header.value - len_header.length
      - id: values
        type: value(header.codes[_index].value)
        repeat: expr
        repeat-expr: header.codes.size
        doc: The columns in the order of `create table`; the one that is the rowid is null here.
  header:
    seq:
      - id: codes
        type: varint
        repeat: eos
  value:
    params:
      - id: code
        type: s8
    seq:
      - id: number
        type:
          switch-on: code
          cases:
            1: s1
            2: s2
            3: int24
            4: s4
            5: int48
            6: s8
            8: zero
            9: one
      - id: float
        type: f8
        if: code == 7
      - id: blob
        size: (code - 12) / 2
        if: code >= 12 and code % 2 == 0
      - id: text
        type: str
        size: (code - 13) / 2
        if: code >= 13 and code % 2 == 1
  zero: {}
  one: {}
  int24:
    seq:
      - id: high
        type: s1
      - id: low
        type: u2
  int48:
    seq:
      - id: high
        type: s2
      - id: low
        type: u4
  varint:
    doc: Seven bits a byte, the highest first; all eight of the ninth.
    seq:
      - id: first
        type: u1
      - id: more
        type: u1
        if: first >= 0x80
        repeat: until
        repeat-until: _ < 0x80 or _index == 7
    instances:
      length:
        value: 'first < 0x80 ? 1 : 1 + more.size'
      four:
        value: (first & 0x7f) << 21 | (more[0] & 0x7f) << 14 | (more[1] & 0x7f) << 7 | more[2] & 0x7f
      eight:
        value: >-
          four << 28 | (more[3] & 0x7f) << 21 | (more[4] & 0x7f) << 14 | (more[5] & 0x7f) << 7 | more[6] & 0x7f
      value:
        value: >-
          first < 0x80 ? first :
          more.size == 1 ? (first & 0x7f) << 7 | more[0] :
          more.size == 2 ? (first & 0x7f) << 14 | (more[0] & 0x7f) << 7 | more[1] :
          more.size == 3 ? four :
          more.size == 4 ? four << 7 | more[3] :
          more.size == 5 ? four << 14 | (more[3] & 0x7f) << 7 | more[4] :
          more.size == 6 ? four << 21 | (more[3] & 0x7f) << 14 | (more[4] & 0x7f) << 7 | more[5] :
          more.size == 7 ? eight :
          (first & 0x40 == 0 ? eight : eight - (1 << 56)) << 8 | more[7]
        doc: Two's complement of 64 bits where there are nine bytes.
enums:
  page_kind:
    2: index_interior
    5: table_interior
    10: index_leaf
    13: table_leaf

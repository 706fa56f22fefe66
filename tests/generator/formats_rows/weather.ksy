meta:
  id: weather
  title: Blocks of weather readings
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - varint
    - varlong
    - unsigned_varint
  encoding: UTF-8
  endian: le
  bit-endian: be
doc: |
  A block of readings with a checksum, perhaps compressed. A reading has one
  field of every kind that can be a column.
seq:
  - id: serial
    type: u8
    doc: Serial number of the station.
  - id: len_block
    type: u4
    valid:
      min: 42
    -derive: length_of(crc..readings)
    doc: Length of all that follows, in bytes.
  - id: crc
    type: u4be
    -derive: crc32(flags..readings)
    doc: CRC-32 of all that follows.
  - id: flags
    size: 2
    type: flags
    doc: Settings needed to read the readings.
  - id: place
    size: 6
    doc: Where the station stands.
  - id: base_time
    type: s8be
    doc: Microseconds since 1970 to which the readings' deltas are added.
  - id: span
    type: u4
    doc: No reading is later than so many microseconds after `base_time`.
  - id: scale
    type: f8
    doc: Factor of the values.
  - id: lowest
    type: f4be
    doc: The lowest value there can be.
  - id: reserved
    type: u4
    doc: Always 0.
  - id: num_readings
    type: u2be
    -derive: count_of(readings)
    doc: How many readings there are.
  - id: readings
    size: len_block - 42
    type:
      switch-on: flags.compression
      cases:
        'compression::none': reading_list
    -codec: flags.compression
    doc: The readings.
types:
  flags:
    seq:
      - id: spare
        type: b3
        doc: Always 0.
      - id: is_test
        type: b1
        -default: false
        doc: Whether the readings were made up.
      - id: season
        type: b2
        doc: 0 to 3.
      - id: compression
        type: b2
        enum: compression
        doc: How the readings are compressed.
      - id: checks
        type: b8
        valid:
          max: 15
        doc: Number of self checks that failed.
  reading_list:
    -unwrap: readings
    seq:
      - id: readings
        type: reading
        repeat: eos
        doc: One after another.
  reading:
    -row:
      columns:
        - time
        - a1
        - a2
        - a4
        - a8
        - b1
        - b2
        - b4
        - b8
        - c2
        - c4
        - c8
        - d2
        - d4
        - d8
        - e4
        - e8
        - g4
        - g8
        - is_wet
        - level
        - sky
        - wide
        - v32
        - v64
        - w32
        - station
        - code
        - note
        - remark
        - extra
        - gust
        - chill
        - before
        - tail
        - x
        - label
        - y
        - samples
        - {name: sum, value: v64 + _batch.span}
        - {name: difference, value: v64 - v32.value}
        - {name: product, value: v32 * b4}
        - {name: quotient, value: v64 / 7}
        - {name: remainder, value: v64 % 7}
        - {name: up, value: v32 << 5}
        - {name: down, value: v64 >> 3}
        - {name: both, value: v32 & 0xff}
        - {name: either, value: v32 | a4}
        - {name: one, value: v32 ^ a4}
        - {name: minus, value: -v32}
        - {name: inverse, value: ~v64}
        - {name: less, type: uint8, value: 'v32 < v64 or v32 == 3 ? 1 : 0'}
        - {name: small, type: int8, value: 'not (v32 >= -5 and v32 <= 5) ? 9 : v32'}
        - {name: is_clear, type: uint16, value: 'sky == sky::clear ? _batch.flags.season : 4'}
        - {name: unsigned, value: a8 + 1}
      unless: _batch.flags.is_test
      bounds:
        time:
          first: _batch.base_time
          last: _batch.base_time + _batch.span
    seq:
      - {id: delta, type: u4, -column: {name: time, type: 'timestamp[us, UTC]', value: _batch.base_time + delta}}
      - {id: a1, type: u1}
      - {id: a2, type: u2}
      - {id: a4, type: u4}
      - {id: a8, type: u8}
      - {id: b1, type: s1}
      - {id: b2, type: s2}
      - {id: b4, type: s4}
      - {id: b8, type: s8}
      - {id: c2, type: u2be}
      - {id: c4, type: u4be}
      - {id: c8, type: u8be}
      - {id: d2, type: s2be}
      - {id: d4, type: s4be}
      - {id: d8, type: s8be}
      - {id: e4, type: f4}
      - {id: e8, type: f8}
      - {id: g4, type: f4be}
      - {id: g8, type: f8be}
      - {id: is_wet, type: b1}
      - {id: level, type: b4}
      - {id: sky, type: b3, enum: sky}
      - {id: wide, type: b24}
      - {id: v32, type: varint}
      - {id: v64, type: varlong}
      - {id: w32, type: unsigned_varint}
      - {id: station, size: 3}
      - {id: code, type: u2, enum: sky, -default: clear}
      - {id: len_note, type: u1, -derive: length_of(note)}
      - {id: note, type: str, size: len_note}
      - {id: len_remark, type: s2be, -column: false}
      - {id: remark, size: len_remark, if: len_remark >= 0, -nullable: true}
      - {id: extra, type: s4, if: is_wet, -default: -7}
      - {id: gust, type: f8be, if: level > 7, -default: 0.5}
      - {id: chill, type: f4, if: level > 3, -default: -2.25}
      - {id: before, type: u1, enum: sky, if: level > 5, -default: foggy}
      - {id: tail, size: level, if: sky != sky::clear}
      - {id: point, type: point}
      - {id: num_samples, type: u1, -derive: count_of(samples), -column: false}
      - {id: samples, type: sample, repeat: expr, repeat-expr: num_samples}
  point:
    seq:
      - {id: x, type: s2}
      - {id: label, size: 2}
      - {id: y, type: s2be, valid: {min: -9000, max: 9000}}
  sample:
    seq:
      - {id: depth, type: u2}
      - {id: heat, type: f4be}
      - {id: turns, type: varint}
      - {id: is_odd, type: b1}
      - {id: rest, type: b7}
      - {id: len_name, type: u1, -derive: length_of(name)}
      - {id: name, type: str, size: len_name}
      - {id: len_raw, type: s1}
      - {id: raw, size: len_raw, if: len_raw >= 0, -nullable: true}
enums:
  compression:
    0: none
    1: gzip
    2: snappy
    3: zstd
  sky:
    0: clear
    1: cloudy
    5: foggy

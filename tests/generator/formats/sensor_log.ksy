meta:
  id: sensor_log
  title: Log of a weather station
  license: CC0-1.0
  ks-version: '0.10'
  imports:
    - varint
  encoding: UTF-8
  endian: le
  bit-endian: be
doc: |
  What a small weather station writes to its card: a header, then blocks of
  readings, each with a checksum and perhaps compressed.
seq:
  - id: magic
    contents: [SENS, 0x1a]
    doc: Identifies the file format.
  - id: station
    type: station
    doc: Who wrote it.
  - id: blocks
    type: block
    repeat: eos
    doc: The readings, in the order of time.
types:
  station:
    seq:
      - id: serial
        type: u4
        doc: Serial number.
      - id: latitude
        type: f8
        valid:
          min: -90.0
          max: 90.0
        doc: Degrees north.
      - id: len_name
        type: u1
        -derive: length_of(name)
        doc: Length of `name`, in bytes.
      - id: name
        size: len_name
        type: str
        doc: Name that the owner gave it.
  block:
    seq:
      - id: len_block
        type: u4
        valid:
          min: 20
        -derive: length_of(crc..readings)
        doc: Length of all that follows, in bytes.
      - id: crc
        type: u4
        -derive: crc32(flags..readings)
        doc: CRC-32 of all that follows.
      - id: flags
        type: flags
        doc: Settings needed to read the readings.
      - id: base_time
        type: s8
        doc: Milliseconds since 1970 to which the readings' deltas are added.
      - id: span
        type: u4
        -derive: last(readings.delta)
        doc: Milliseconds from `base_time` to the last reading.
      - id: num_readings
        type: u2
        -derive: count_of(readings)
        doc: How many readings there are.
      - id: readings
        size: len_block - 20
        type:
          switch-on: flags.compression
          cases:
            'compression::none': reading_list
        if: num_readings > 0
        -codec: flags.compression
        doc: The readings.
  flags:
    seq:
      - id: reserved
        type: b3
        doc: 0.
      - id: calibrated
        type: b1
        -default: true
        doc: Whether the values are in units, rather than raw.
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
        - sensor
        - value
        - note
        - name: calibrated
          type: bool
          value: _batch.flags.calibrated
    seq:
      - id: delta
        type: varint
        -column:
          name: time
          type: timestamp[ms]
          value: _batch.base_time + delta
        doc: Milliseconds after the block's `base_time`.
      - id: sensor
        type: varint
        doc: Which sensor.
      - id: value
        type: varint
        doc: Text of the message.
      - id: len_note
        type: varint
        -column: false
        doc: Length of `note`, in bytes; -1 is none.
      - id: note
        size: len_note.value
        type: str
        if: len_note.value >= 0
        -nullable: true
        doc: A remark, or null.
enums:
  compression:
    0: none
    1: gzip

meta:
  id: sensor_message
  title: Message of a sensor to its station
  license: CC0-1.0
  ks-version: '0.10'
  encoding: UTF-8
  endian: be
-versions: 0-2
seq:
  - id: version
    type: u1
    valid:
      max: 2
    doc: Version of the message.
  - id: sensor
    type: u2
    doc: Which sensor.
  - id: unit
    type: u1
    enum: unit
    if: version >= 1
    -default: celsius
    doc: Unit of the values.
  - id: num_values
    type: u1
    -derive: count_of(values)
    doc: How many values there are.
  - id: values
    type: value(version)
    repeat: expr
    repeat-expr: num_values
    doc: The values.
types:
  value:
    -versions: 0-2
    params:
      - id: version
        type: u1
    seq:
      - id: raw
        type: s2
        if: version < 2
        doc: The value in tenths.
      - id: exact
        type: f4
        if: version >= 2
        doc: The value.
enums:
  unit:
    0: celsius
    1: hectopascal
    2: percent

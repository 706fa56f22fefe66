meta:
  id: counted
  endian: be
doc: Readings to the end of the bytes, with what follows from them in front.
seq:
  - id: strict
    type: u1
    doc: Whether the number of readings and their largest value are checked.
  - id: num_readings
    type: u1
    -derive:
      value: count_of(readings)
      when: strict == 1
    doc: How many readings there are.
  - id: largest
    type: u2
    -derive:
      value: max(readings.value)
      verify: at_least
      when: strict == 1
    doc: The largest reading, or more.
  - id: newest
    type: s2
    -derive: last(readings.value) + 1
    doc: What follows the last reading.
  - id: readings
    type: reading
    repeat: eos
    doc: The readings.
types:
  reading:
    doc: A reading.
    seq:
      - id: value
        type: s2
        doc: What was measured.

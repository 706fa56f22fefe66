meta: {id: telemetry, endian: be, bit-endian: be}
doc: Measurements in bits. The checksum covers the whole frame, with itself as zeros.
seq:
  - {id: sync, contents: [0xeb, 0x90]}
  - {id: vehicle, type: b10}
  - {id: has_gps, type: b1}
  - {id: mode, type: b3, enum: modes}
  - {id: seq_flags, type: b2}
  - {id: checksum, type: u4, -derive: {value: crc32(sync..samples), own: 0}}
  - {id: num_samples, type: u1}
  - {id: gps, type: gps, if: has_gps}
  - {id: samples, type: sample, repeat: expr, repeat-expr: num_samples}
types:
  gps: {seq: [{id: lat, type: s4}, {id: lon, type: s4}]}
  sample: {seq: [{id: channel, type: b4}, {id: value, type: b12}]}
enums:
  modes: {0: idle, 1: cruise, 2: safe}

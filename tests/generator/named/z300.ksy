meta: {id: z300, endian: le, encoding: UTF-8}
seq:
- {id: z301, type: u1}
- {id: z302, type: strz}
- {id: z303, size: z301, process: xor(5)}
- {id: z304, type: z310(z301), repeat: until, repeat-until: _.z306 == 0}
- {id: z305, type: {switch-on: z301, cases: {1: z311, 2: z312}}, size: 3, if: z301 < 9}
- {id: z307, type: b5}
- {id: z308, type: u2, enum: z313, valid: {in-enum: true}}
instances:
  z320: {value: z301 + z308.to_i}
  z321: {pos: 1, type: u1, if: z301 > 0}
types:
  z310:
    params: [{id: z314, type: u1}]
    seq: [{id: z306, type: u1}, {id: z315, size: z314}]
    instances:
      z322: {value: _parent.z301 + z314}
  z311:
    seq: [{id: z316, type: u2}]
    instances:
      z323: {pos: 0, type: u1, io: _root._io}
  z312:
    seq: [{id: z317, size-eos: true}]
enums:
  z313: {0: z318, 1: z319}

meta: {id: z200, imports: [unsigned_varint, tagged_fields, uuid, part/part], endian: be, bit-endian: be, encoding: UTF-8}
-versions: {field: z201, range: 0-2}
-message:
  flexible: 1+
params: [{id: z201, type: s2}]
seq:
- {id: z202, type: u2, -default: 7}
- {id: z203, type: u1, enum: z241, if: z201 >= 1, -default: z251}
- {id: z204, type: uuid}
- {id: z205, type: z242(z202)}
- {id: z206, type: unsigned_varint, -derive: count_of(z207) + 1, valid: {expr: _.value >= 1}}
- {id: z207, type: s4, repeat: expr, repeat-expr: z206.value - 1, valid: {min: -9}}
- {id: z208, type: u1, valid: 1, -default: 1}
- {id: z209, type: {switch-on: z202, cases: {7: z243, 8: z244}}, size: 10}
- {id: z210, type: z245}
- {id: z298, type: 'part::inner'}
- {id: z299, type: part}
- {id: z211, type: z246, repeat: expr, repeat-expr: 2}
- {id: z212, type: z248, if: z201 >= 1}
types:
  z242:
    params: [{id: z215, type: u2}]
    seq:
    - {id: z260, type: u1}
    - {id: z261, type: u1}
    - {id: z262, type: u1}
    - {id: z263, type: u1}
    - {id: z216, type: u1, if: z215 > 3, -default: 4}
    - {id: z217, type: f4, valid: {min: -1.5}}
    - {id: z218, contents: [1, 2]}
  z243:
    seq:
    - {id: z264, type: u1}
    - {id: z265, type: u1}
    - {id: z266, type: u1}
    - {id: z267, type: u1}
    - {id: z219, type: b4}
    - {id: z220, type: b1}
    - {id: z221, type: b3}
    - {id: z222, size-eos: true, type: str}
  z244:
    seq:
    - {id: z223, type: s8, repeat: eos}
  z245:
    seq:
    - {id: z224, size: z226, type: str}
    - {id: z270, type: u1, repeat: expr, repeat-expr: 2}
    - {id: z271, type: u1, repeat: expr, repeat-expr: 2}
    - {id: z272, type: u1, repeat: expr, repeat-expr: 2}
    - {id: z273, type: u1, repeat: expr, repeat-expr: 2}
    instances:
      z225: {pos: _io.pos, type: u1}
      z280: {pos: _io.pos + 1, type: u1}
      z281: {pos: _io.pos + 2, type: u1}
      z282: {pos: _io.pos + 3, type: u1}
      z283: {pos: _io.pos + 4, type: u1}
      z226: {value: z225 % 2 + 1}
  z246:
    seq:
    - {id: z227, type: z247}
    - {id: z290, type: u1}
    - {id: z291, type: u1}
    - {id: z292, type: u1}
    - {id: z293, type: u1}
    - {id: z294, type: u1}
    - {id: z295, type: u1}
    - {id: z228, type: u2, if: z227.z229 > 2, -default: 9}
  z247:
    seq:
    - {id: z274, type: u1}
    - {id: z275, type: u1}
    - {id: z276, type: u1}
    - {id: z277, type: u1}
    - {id: z278, type: u1}
    - {id: z229, type: u1}
    - {id: z230, type: s2}
  z231:
    -unwrap: value
    seq:
    - {id: value, type: s4}
  z248:
    seq:
    - {id: z233, type: unsigned_varint}
    - {id: z234, type: z249, repeat: expr, repeat-expr: z233.value}
  z249:
    seq:
    - {id: tag, type: unsigned_varint}
    - {id: len_body, type: unsigned_varint}
    - id: body
      size: len_body.value
      type: {switch-on: tag.value.as<s4>, cases: {0: z231, 1: uuid}}
      -tags: {0: {id: z213, -default: -1}, 1: {id: z214}}
enums:
  z241: {0: z251, 1: z252, 2: z253, 3: z254, 4: z255, 5: z256}

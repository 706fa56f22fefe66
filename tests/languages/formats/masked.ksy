meta:
  id: masked
  title: Conditions in which operators of all levels stand beside each other
  license: CC0-1.0
  ks-version: '0.10'
  endian: be
seq:
  - id: flags
    type: u1
    valid:
      expr: (_ & 3) == 1 or (_ ^ 8 | 1) == 9 or _ - 2 * (_ & 4) + 1 > 100 and _ < 240
    doc: Bits, and rules of several of them.
  - id: number
    type: s2
    valid:
      expr: not (_ * 2 - 1 == 7) and (_ & 1 | 2) != 3 == (_ < 1000)
    doc: A number, with a comparison of comparisons.

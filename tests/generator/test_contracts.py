"""The tests that are generated for streamed schemas pass as they are, and fail where a module is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kodec.generator.contract import Sample, check_sample, check_sample_cut, check_without_values
from kodec.generator.driver import render_all

SCHEMA = """\
meta: {id: x, endian: be, encoding: ASCII}
seq:
- {id: magic, contents: [0x4b, 0x53]}
- {id: version, type: u2, valid: 7}
- {id: len_name, type: u1}
- {id: name, type: str, size: len_name}
- {id: flags, type: b3}
- {id: rest, type: b5, if: flags > 0}
- {id: ofs, type: u1, valid: {min: 20}}
- {id: items, type: item(version), repeat: until, repeat-until: _.kind == 0}
- {id: packed, size: 4, process: xor(0x55)}
- {id: zipped, size: 0, process: zlib, if: false}
types:
  item:
    params: [{id: version, type: u2}]
    seq:
    - {id: kind, type: u1}
    - {id: word, type: strz}
    instances:
      long: {value: word.length > 3}
  inner:
    seq: [{id: up, size: _parent.as<x>.len_name}]
  own:
    params: [{id: with, type: x}]
    seq: [{id: up, size: with.len_name}]
instances:
  table: {pos: ofs, type: u2, if: ofs < 40}
"""


def made(tmp_path: Path) -> Path:
    """The generated modules and tests of the schema, in a folder."""
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "x.ksy").write_text(SCHEMA)
    output = render_all(schemas, package="made_streams", targets=("python",))
    for root, texts in (("made_streams", output.modules), ("tests", output.tests)):
        for path, text in texts.items():
            (tmp_path / root).mkdir(exist_ok=True)
            (tmp_path / root / path).write_text(text)
    return tmp_path


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    options = ["-q", "-c", os.devnull, f"--rootdir={folder}", "-p", "no:cacheprovider", "-p", "no:randomly"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(folder / "tests")],
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_they_pass_as_they_are(tmp_path: Path) -> None:
    folder = made(tmp_path)
    text = (folder / "tests/test_x.py").read_text()
    assert len(re.findall(r"Sample\(\s*x\.X,", text)) == 3 and "x.Item" in text
    # what must stand there was found, and what needs others is left out
    assert '0: b"KS"' in text and '2: b"\\x00\\x07"' in text
    assert "x.Inner" not in text and "x.Own" not in text
    done = run(folder)
    assert done.returncode == 0, done.stdout
    # generating again gives the same
    assert render_all(folder / "schemas", package="made_streams").tests["test_x.py"] == text


BREAKS = {
    "another byte order": ('io.u1(self.kind, "kind")', 'io.u1(self.kind ^ 1, "kind")'),
    "a value is dropped": ("self.len_name = ", "self.len_name = 0 * "),
    "another error": ('io.refuse("version"', 'self.no_such_name("version"'),
}


@pytest.mark.parametrize("how", BREAKS)
def test_they_fail_where_a_module_is_wrong(how: str, tmp_path: Path) -> None:
    folder = made(tmp_path)
    module = folder / "made_streams/x.py"
    before, after = BREAKS[how]
    text = module.read_text()
    assert before in text
    module.write_text(text.replace(before, after))
    assert run(folder).returncode == 1


def test_a_sample_that_says_something_else_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    from made_streams import x

    kind: type = x.Item
    right = Sample(kind, 3, b"\0a\0", arguments=(7,))
    check_sample(right)
    check_sample_cut(right)
    with pytest.raises(AssertionError):
        check_sample(Sample(kind, 3, b"\0a\0", arguments=(7,), written="error"))
    check_without_values(x.X)

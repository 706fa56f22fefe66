"""Python modules with a copy of the runtime: they work where kodec is not installed, as kodec's do."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kodec.cli.main import main
from kodec.generated.log import record_batch
from kodec.generator.driver import render_all
from tests.data import LOGS, ROOT

SEGMENT = LOGS / "codec-zstd-0" / f"{0:020d}.log"
SCHEMA = """
meta: {id: order, endian: be}
seq:
  - {id: count, type: u2}
  - {id: lines, type: line, repeat: expr, repeat-expr: count}
types:
  line:
    seq:
      - {id: size, type: u1}
      - {id: text, type: str, encoding: UTF-8, size: size}
    instances:
      last: {value: size - 1}
"""
# runs without kodec: an import of it is an error
PROGRAM = """
import json, pickle, sys
sys.modules["kodec"] = None
from app.codecs.log import record_batch
from app.codecs.kodec_runtime.errors import FormatError
from app.codecs.kodec_runtime.fields import ReadOptions
data = open(sys.argv[1], "rb").read()
batch, end = record_batch.RecordBatch.read_from(data)
try:
    record_batch.RecordBatch.from_bytes(data[:40])
except FormatError as error:
    said = str(error)
    assert str(pickle.loads(pickle.dumps(error))) == said
assert pickle.loads(pickle.dumps(batch)) == batch
print(json.dumps([repr(batch), end, batch.to_bytes().hex(), said]))
"""
STREAM = """
import json, sys
sys.modules["kodec"] = None
from codecs_of_orders.order import Order
order = Order.from_bytes(bytes.fromhex("0002026162016b"))
order.lines[0].text = "abc"
order.lines[0].size = None
print(json.dumps([[each.text for each in order.lines], order.lines[1].last, order.to_bytes().hex()]))
"""


def run(program: str, folder: Path, *words: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[object] = json.loads(done.stdout)
    return found


def test_kafkas_modules_read_and_write_without_kodec(tmp_path: Path) -> None:
    out = tmp_path / "app/codecs"
    assert (
        main(
            [
                "generate",
                "--schemas",
                str(ROOT / "schemas"),
                "--to",
                str(out),
                "--target",
                "python",
                "--runtime",
            ]
        )
        == 0
    )
    data = SEGMENT.read_bytes()
    batch, end = record_batch.RecordBatch.read_from(data)
    with pytest.raises(Exception) as caught:
        record_batch.RecordBatch.from_bytes(data[:40])
    expected = [repr(batch), end, batch.to_bytes().hex(), str(caught.value)]
    assert run(PROGRAM, tmp_path, str(SEGMENT)) == expected


def test_streamed_modules_read_and_write_without_kodec(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/order.ksy").write_text(SCHEMA)
    out = tmp_path / "codecs_of_orders"
    words = ["generate", "--schemas", str(tmp_path / "schemas"), "--to", str(out), "--target", "python"]
    assert main([*words, "--streams", "--runtime"]) == 0
    assert run(STREAM, tmp_path) == [["abc", "k"], 0, "000203616263016b"]
    assert main([*words, "--streams", "--runtime", "--check"]) == 0


def test_the_copy_imports_nothing_of_kodec_and_is_complete() -> None:
    made = render_all(ROOT / "schemas", targets=["python"], options={"python.runtime": "lib"}).modules
    copied = {path: text for path, text in made.items() if path.startswith("lib/")}
    assert "lib/native/__init__.py" in copied and len(copied) > 15
    for path, text in made.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert not any(each.name.partition(".")[0] == "kodec" for each in node.names), path
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert (node.module or "").partition(".")[0] != "kodec", path
            elif isinstance(node, ast.ImportFrom):
                folder = (
                    Path(path).parents[node.level - 1] / (node.module or "").replace(".", "/")
                ).as_posix()
                names = [
                    f"{folder}.py",
                    f"{folder}/__init__.py",
                    *(f"{folder}/{each.name}.py" for each in node.names),
                ]
                assert any(each in made for each in names), (path, ast.unparse(node))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "go", "--runtime"], "--runtime is for Python"),
        (["--runtime", "--tests", "t", "--package", "p"], "they go without --runtime"),
        (
            ["--target", "python", "--option", "python.runtime=a-b"],
            "`a-b` is not the name of a Python package",
        ),
        (["--target", "python", "--option", "python.runtime=order"], "where order.ksy has its module"),
    ],
    ids=lambda words: words[-1] if isinstance(words, list) else "",
)
def test_what_a_copy_cannot_be_for(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "order.ksy").write_text(SCHEMA)
    assert main(["generate", "--schemas", str(tmp_path), "--to", str(tmp_path / "out"), *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

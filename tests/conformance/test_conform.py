"""A suite against testees that are right, wrong, and broken in each way."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

from kodec.cli.main import main
from kodec.conformance.known import read_known
from kodec.conformance.process import Failed, Limits
from kodec.conformance.report import as_html, as_json, as_text
from kodec.conformance.run import Report, run
from kodec.conformance.same import difference
from kodec.conformance.suite import Suite, from_folder, from_schemas
from kodec.conformance.testee import PythonTestee
from kodec.generator.driver import generate, load, render_all
from kodec.generator.modules import Modules
from kodec.generator.problems import SchemaError
from kodec.generator.targets.vectors import CONTRACT
from tests.generator.test_streams import ALL
from tests.golden import Golden

HERE = Path(__file__).resolve().parent
# no bytes are found that it is read from: an error does not say which bytes end a field
WITHOUT = ("terminator, consume, include, eos-error",)
LANGUAGES = HERE.parent / "languages" / "formats"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    folder = tmp_path_factory.mktemp("schemas")
    (folder / "one.ksy").write_text("meta: {id: one}\nseq: [{id: number, type: u1}]\n")
    return from_schemas(folder)


def asked(suite: Suite, mode: str, after: int = 3, **limits: float) -> Report:
    command = [sys.executable, str(HERE / "broken_testee.py"), mode, str(after)]
    return run(suite, command, Limits(limits.get("seconds", 20), int(limits.get("memory", 1 << 30)), start=5))


def test_a_testee_that_is_right(suite: Suite) -> None:
    report = asked(suite, "right")
    assert report.is_right and report.starts == 1 and report.count() > 10
    assert report.count(outcome="passed") == report.count()


def test_a_wrong_value_is_a_failure_that_says_where(suite: Suite) -> None:
    report = asked(suite, "wrong")
    assert not report.is_right
    texts = {each.vector.id: each.text for each in report.failures if each.check == "decode"}
    assert texts["one/smallest-values"] == "number is 1, not 0"
    assert {each.check for each in report.failures} == {"decode", "round_trip"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mode", "outcome", "text"),
    [
        ("crash", "crashed", "exit code 1: <i>it fell</i>"),
        ("die", "crashed", "signal 6"),
        ("hang", "hung", "no answer in 1 s"),
        ("memory", "memory", "more than 209715200"),
        ("babble", "protocol", "not a line of JSON"),
        ("lists", "protocol", "more than 2000000 values"),
        ("endless", "protocol", "a line of more than"),
    ],
)
def test_a_testee_without_an_answer_is_reported_and_started_again(
    suite: Suite, mode: str, outcome: str, text: str
) -> None:
    seconds = 1 if mode == "hang" else 20
    report = asked(suite, mode, seconds=seconds, memory=200 << 20)
    # each program answers two requests after `hello`, and those after the first one do not get that
    broken = [each for each in report.results if each.outcome == outcome]
    assert broken and text in broken[0].text
    assert report.starts > 1 and report.count(outcome="passed") > 0


def test_one_that_never_answers_is_given_up() -> None:
    report = asked(from_schemas(LANGUAGES), "crash", after=0)
    assert report.gave_up is not None and not report.is_right
    assert len(report.results) == 20


def test_no_testee(suite: Suite) -> None:
    with pytest.raises(Failed, match="protocol None"):
        run(suite, ["/bin/cat"])
    with pytest.raises(FileNotFoundError):
        run(suite, ["/no/such/program"])


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"known": ' * 100_000, "1e999", '{"known": [1]}', '{"known": [{"x": 1}]}', "9" * 5_000],
)
def test_what_is_no_file_of_known_failures(text: str, tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(text)
    with pytest.raises(ValueError, match="not a file of known failures"):
        read_known(tmp_path / "known.json")


def test_known_failures_and_unexpected_passes(suite: Suite, tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "known.json"
    entries = [
        {"vectors": "one/*", "check": "decode", "reason": "adds one"},
        {"vectors": "one/*", "check": "round_trip", "text": "* is *, not *", "reason": "adds one"},
    ]
    path.write_text(json.dumps({"known": entries}))
    command = [sys.executable, str(HERE / "broken_testee.py"), "wrong", "3"]
    report = run(suite, command, known=read_known(path))
    assert report.is_right and report.count(outcome="known") > 0
    path.write_text(json.dumps({"known": [entries[0] | {"text": "refused"}, entries[1]]}))
    report = run(suite, command, known=read_known(path))
    assert report.failures
    golden(report.unexpected)
    entries.append({"vectors": "one/*", "check": "refuse", "reason": "cannot tell"})
    path.write_text(json.dumps({"known": entries}))
    report = run(suite, command, known=read_known(path))
    golden(report.unexpected)
    assert not report.is_right
    path.write_text('{"known": [{"vectors": "one/*"}]}')
    with pytest.raises(ValueError, match="not a file of known failures"):
        read_known(path)


def test_reports_hold_what_testees_say_as_text(suite: Suite) -> None:
    report = asked(suite, "crash")
    assert "<b>broken</b>" in as_text(report)
    assert json.loads(as_json(report))["testee"]["name"] == "<b>broken</b>"
    page = as_html(report)
    HTMLParser().feed(page)
    assert "<b>" not in page and "<i>" not in page and "&lt;i&gt;it fell" in page


def test_a_changed_field_with_old_vectors_fails(tmp_path: Path) -> None:
    """The schema changes, and the vectors do not: the testee of the changed one does not pass."""
    new = tmp_path / "new"
    new.mkdir()
    text = (LANGUAGES / "noted.ksy").read_text()
    (new / "noted.ksy").write_text(text.replace("type: s4\n", "type: u4\n"))
    generate(LANGUAGES, tmp_path / "old", targets=["vectors"])
    suite = from_folder(tmp_path / "old")
    testee = [sys.executable, "-m", "kodec.conformance.testee"]
    assert run(suite, [*testee, str(LANGUAGES)]).is_right
    report = run(suite, [*testee, str(new)])
    assert not report.is_right and {each.check for each in report.failures} >= {"decode", "encode"}


def test_the_verb(suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate(LANGUAGES, tmp_path, targets=["vectors"])
    testee = ["--", sys.executable, "-m", "kodec.conformance.testee", str(LANGUAGES)]
    out = tmp_path / "report.html"
    assert main(["conform", "--vectors", str(tmp_path), "--format", "html", "--to", str(out), *testee]) == 0
    assert "kodec-python" in out.read_text()
    assert main(["conform", "--vectors", str(tmp_path), "--", "/bin/cat"]) == 1
    assert "speaks protocol None" in capsys.readouterr().err
    # a testee of other schemas answers nothing, which shows nothing
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "z.ksy").write_text("meta: {id: z}\nseq: [{id: y, type: u1}]\n")
    testee[-1] = str(tmp_path / "others")
    assert main(["conform", "--vectors", str(tmp_path), *testee]) == 1
    assert "nothing was checked" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wanted", "found", "what"),
    [
        ("9223372036854775807", 9223372036854775807, None),
        (5, "5", None),
        (5, "05", None),
        (5, True, "the value is True, not 5"),
        (1, 1.0, "the value is 1.0, not 1"),
        (-0.0, 0.0, "the value is 0.0, not -0.0"),
        (0.0, 0, None),
        ("5", "05", "the value is '05', not '5'"),
        ({"a": [1, None]}, {"a": [1, None]}, None),
        ({"a": [1, None]}, {"a": [1, 2]}, "a[1] is 2, not None"),
        ({"a": 1}, {}, "a is missing"),
        ({"a": 1, "b": 2}, {"a": 1}, None),
        ({"a": 1}, {"a": 1, "c": 2}, "the value has c too"),
        ([1], [1, 2], "the value has 2 elements, not 1"),
        ({"a": {}}, {"a": "x"}, "a is 'x', not an object"),
    ],
)
def test_values_are_the_same_in_any_form_of_json(wanted: object, found: object, what: str | None) -> None:
    assert difference(wanted, found, frozenset({"b"})) == what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not a file of vectors"),
        ('{"vectors_version": 1, "vectors": []}', "version 1, not 2"),
        ('{"vectors_version": 2}', "no 'vectors'"),
    ],
)
def test_files_of_another_form(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no \*\.vectors\.json"):
        from_folder(tmp_path)
    (tmp_path / "x.vectors.json").write_text(text)
    with pytest.raises(ValueError, match=what):
        from_folder(tmp_path)


def test_a_streamed_schema_has_vectors_for_what_reads_it(tmp_path: Path) -> None:
    text = (LANGUAGES.with_name("streams") / "lines.ksy").read_text()
    for name, changed in (("own", text), ("other", text.replace("size: size", "size: size + 1"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lines.ksy").write_text(changed)
    suite = from_schemas(tmp_path / "own")
    assert {each.type for each in suite.vectors} == {"lines", "lines::line"}
    assert {(each.error or {}).get("code") for each in suite.vectors} >= {None, "truncated", "malformed"}
    testee = [sys.executable, "-m", "kodec.conformance.testee"]
    report = run(suite, [*testee, str(tmp_path / "own")])
    assert report.is_right and report.count(outcome="passed") == report.count()
    assert report.count("decode") + report.count("refuse") > 500
    assert report.count("encode") == report.count("round_trip") == report.count("decode")
    report = run(suite, [*testee, str(tmp_path / "other")])
    assert {each.check for each in report.failures} == {"decode", "encode", "refuse", "round_trip"}
    # a language names what it does not read; a program that has no such types answers nothing about them
    (tmp_path / "own" / "x.ksy").write_text("meta: {id: x}\nseq: [{id: y, size: 1, process: ours}]\n")
    with pytest.raises(SchemaError, match=r"x\.y: it cannot be read from streams in C: its process"):
        generate(tmp_path / "own", tmp_path / "out", targets=["c"])
    report = run(suite, [*testee, str(LANGUAGES)])
    assert report.is_right and report.count(outcome="unsupported") == report.count() > len(suite.vectors)


STREAMED = """
meta: {id: x, endian: be, encoding: ASCII}
seq:
  - {id: version, type: u1, valid: {max: 9}}
  - {id: len, type: u2}
  - {id: text, type: str, size: len}
  - {id: word, type: strz, size: 4}
  - {id: parts, type: part, repeat: eos}
instances:
  twice: {value: version * 2}
types:
  part: {seq: [{id: a, type: b4}, {id: b, type: b4}, {id: c, type: strz}]}
"""


def changed(what: str, folder: Path) -> list[str]:
    """The command of kodec's testee with a change of it."""
    code = f"import sys; from kodec.conformance import testee; T = testee.PythonTestee; {what}"
    return [sys.executable, "-c", f"{code}; testee.main(sys.argv[1:])", str(folder)]


def test_streamed_values_are_written(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(STREAMED)
    (text,) = render_all(tmp_path, targets=["vectors"]).modules.values()
    jsonschema.Draft202012Validator(json.loads(CONTRACT.read_text())).validate(json.loads(text))
    suite = from_schemas(tmp_path)
    # bytes after a terminator are written otherwise
    kinds = {(each.type, each.encodes) for each in suite.vectors if each.value is not None and each.data}
    assert kinds == {("x", "same"), ("x", "reads_back"), ("x::part", "same")}
    # fields that a writer computes are not among the values that it must refuse
    refused = {each.error["path"] for each in suite.vectors if each.data is None and each.error is not None}
    assert refused >= {"version", "a", "b"} and "len" not in refused
    report = run(suite, changed("pass", tmp_path))
    assert report.is_right and report.count(outcome="passed") == report.count()
    assert report.count("encode") > report.count("round_trip") > 20 and report.count("refuse_value") > 2
    more = "T._written = lambda self, value, told: {'bytes': value.to_bytes(**told).hex() + '20'}"
    report = run(suite, changed(more, tmp_path))
    assert {each.check for each in report.failures} >= {"encode", "round_trip"}
    assert {each.check for each in report.failures}.isdisjoint({"decode", "refuse"})
    other = (
        "of = T.object_of; T.object_of = lambda self, kind, value: of(self, kind, {**value, 'version': 1})"
    )
    report = run(suite, changed(other, tmp_path))
    assert {each.check for each in report.failures} == {"encode", "refuse_value"}


def test_a_type_that_is_only_read_is_not_asked_for_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(STREAMED)
    suite = from_schemas(tmp_path)
    hello = "hello = T._hello; T._hello = lambda self: {**hello(self), 'reads': %s}"
    report = run(suite, changed(hello % "['x']", tmp_path))
    assert report.is_right
    written = [each for each in report.results if each.check in ("encode", "round_trip", "refuse_value")]
    skipped = {each.vector.type for each in written if each.outcome == "unsupported"}
    assert skipped == {"x"} and {each.vector.type for each in written if each.outcome == "passed"} == {
        "x::part"
    }
    assert all(
        each.text == "a type that it only reads" for each in report.results if each.outcome == "unsupported"
    )
    assert report.count("decode", "passed") == report.count("decode") > 50
    with pytest.raises(Failed, match="`reads` in the answer to `hello` is not a list"):
        run(suite, changed(hello % "'x'", tmp_path))


@pytest.mark.thorough
@pytest.mark.parametrize("row", ALL)
def test_the_generated_python_passes_the_vectors_of_each_construct(row: str, tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text("meta: {id: x, endian: be}\n" + ALL[row].schema)
    model = load(tmp_path)
    suite = from_schemas(tmp_path)
    assert suite.vectors or row in WITHOUT
    with Modules(model) as modules:
        testee = PythonTestee(model, modules)
        for each in suite.vectors:
            told = {"type": each.type} | ({} if each.arguments is None else {"arguments": each.arguments})
            encode = {"do": "encode", "value": each.value, **told}
            if each.data is None:
                assert testee.answer(encode) == {"error": each.error}, each.id
                continue
            if each.encodes == "same":
                assert testee.answer(encode) == {"bytes": each.data}, each.id
            request = {"do": "decode", "bytes": each.data, **told}
            wanted = {"value": each.value} if each.error is None else {"error": each.error}
            if each.instances is not None:
                request["instances"] = {path: list(names) for path, names in each.instances.items()}
                wanted["instances"] = each.instances
            assert testee.answer(request) == wanted, each.id


PARTS = """
meta: {id: x, endian: be}
seq:
  - {id: kind, type: u1}
  - {id: len, type: u1}
  - {id: body, size: len, type: {switch-on: kind, cases: {70: inner, 90: told(2)}}}
instances:
  twice: {value: kind * 2}
  far: {pos: len, type: told(1)}
types:
  inner: {seq: [{id: a, type: u1}], instances: {half: {value: '_parent.len / a'}}}
  told: {params: [{id: n, type: u1}], seq: [{id: b, size: n}], instances: {more: {value: 'n + b[0]'}}}
"""


def test_instances_arguments_and_parts_are_in_vectors(tmp_path: Path) -> None:
    for name, changed in (
        ("own", PARTS),
        ("values", PARTS.replace("kind * 2", "kind * 3")),
        ("errors", PARTS.replace("_parent.len / a", "a == 0 ? 0 : _parent.len / a")),
        ("told", PARTS.replace("n + b[0]", "n - b[0]")),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.ksy").write_text(changed)
    made = render_all(tmp_path / "own", targets=["vectors"]).modules["x.vectors.json"]
    document = json.loads(made)
    jsonschema.Draft202012Validator(json.loads(CONTRACT.read_text())).validate(document)
    assert document["without"] == {}
    parts = [each for vector in document["vectors"] for each in vector.get("parts", ())]
    assert {"type": "x::inner", "path": "body"} in parts
    suite = from_schemas(tmp_path / "own")
    assert {each.type for each in suite.vectors} == {"x", "x::told"}
    assert {each.arguments["n"] for each in suite.vectors if each.arguments} == {0, 1, 2}
    assert any("half" in each.get("body", ()) for vector in suite.vectors if (each := vector.instances))
    testee = [sys.executable, "-m", "kodec.conformance.testee"]
    report = run(suite, [*testee, str(tmp_path / "own")])
    assert report.is_right and report.count("instances", "passed") > 20
    for name, text in (
        ("values", "twice is"),
        ("errors", "body.half: accepted"),
        ("told", "more"),
    ):
        report = run(suite, [*testee, str(tmp_path / name)])
        assert {each.check for each in report.failures} == {"instances"}, name
        assert any(text in each.text for each in report.failures)


def test_a_testee_that_knows_no_arguments_and_instances_is_not_asked_for_them(tmp_path: Path) -> None:
    (tmp_path / "x.ksy").write_text(PARTS)
    code = (
        "import sys; from kodec.conformance import testee; hello = testee.PythonTestee._hello;"
        "testee.PythonTestee._hello = lambda self: {**hello(self), 'does': ['decode'], 'types': None};"
        "testee.main(sys.argv[1:])"
    )
    suite = from_schemas(tmp_path)
    report = run(suite, [sys.executable, "-c", code, str(tmp_path)])
    told = [each for each in suite.vectors if each.arguments is not None]
    assert report.is_right and report.count("instances") == 0
    assert report.count(outcome="unsupported") == len(told) > 10

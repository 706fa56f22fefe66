"""Nothing that a schema says becomes code: hostile text in every place of every key that the language has."""

# ruff: noqa: E501  (a schema on one line is easier to compare)

from __future__ import annotations

import ast
import copy
import itertools
import json
import keyword
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from kodec.generator import text as text_module
from kodec.generator.driver import Output, generate, load, render_all
from kodec.generator.problems import SchemaError, SchemaProblem
from kodec.generator.schema.keys import KEYS
from kodec.generator.target import DEFAULT
from kodec.generator.targets.python.contract_tests import ContractTests
from kodec.generator.templates import Templates
from kodec.generator.text import Text
from tests.data import TESTS

pytestmark = pytest.mark.thorough

FORMATS = TESTS / "generator/formats"
MARK = "PWNED"
BENIGN = f"Some {MARK} words."
HOSTILE = {
    "call": f'__import__("os").system("{MARK}")',
    "statement": f"x = 0\n{MARK} = 1\n",
    "triple quotes": f'"""\n{MARK}()\n"""',
    "single triple quotes": f"'''\n{MARK}()\n'''",
    "quote": f'x", {MARK}(), "y',
    "apostrophe": f"x', {MARK}(), 'y",
    "comment end": f"*/ {MARK}(); /*",
    "comment": f"# {MARK} // {MARK}",
    "backslash at the end": f"{MARK} \\",
    "escapes": f'\\" {MARK} \\x22 \\N{{BULLET}} \\u0022',
    "template": f"{{{{ {MARK} }}}} {{% for {MARK} in x %}} {{{MARK}}} %({MARK})s",
    "carriage return": f"x\r{MARK} = 1",
    "null": f"x\0{MARK}",
    "surrogate": f"\ud800{MARK}",
    "bidi": f"\u202e{MARK}\u2066",
    "line separator": f"x\u2028{MARK} = 1",
    "terminal escape": f"\x1b]0;{MARK}\x07",
    "list item": f"- {MARK}\n- '''\n- \"\"\"\n- \\",
    "traversal": f"../../{MARK}",
    "not ASCII": f"\u017f\uff30{MARK}\u00e9",
    "expression": f"{MARK}.__class__.__mro__[1]",
    "name of the container": f"_batch.__class__.{MARK}",
    "enum of the container": f"_batch.{MARK} + kind::{MARK}",
    "long number": "9" * 5000,
    "infinite": "1e999",
}
# what is never shown as what it is: refused in documents too
NO_TEXT = ("carriage return", "null", "surrogate", "bidi", "line separator", "terminal escape")

# A container of rows with a kernel, and all else: together they have each key that there is.
LOG = """
meta: {id: log, title: T., application: A., license: L., endian: be, bit-endian: be, imports: [tiny]}
-orig-id: Block
doc: A container.
doc-ref: somewhere
seq:
- {id: size_all, type: u4, valid: {min: 25}, -derive: length_of(crc..rows) + 0, -orig-id: sizeAll}
- {id: crc, type: u4, -derive: crc32(flags..rows)}
- {id: flags, type: u1, enum: codec, valid: {any-of: [0, 1, 2]}, -default: none}
- {id: base, type: s8, -default: 5}
- {id: most, type: s8, -derive: {value: last(rows.delta) + base, verify: at_least, when: flags == codec::none}}
- {id: count, type: s4, valid: {min: 0}, -derive: count_of(rows)}
- {id: rows, size: size_all - 25, type: {switch-on: flags, cases: {'codec::none': row_list}},
   -codec: {field: flags, replace: {gzip: zstd}, when: base == 0}, -inner: row_list}
types:
  row_list:
    -wire: list
    seq: [{id: rows, type: row, repeat: eos}]
  row:
    -row:
      columns: [at, {name: kind, type: int32, value: _batch.flags}, note]
      unless: _batch.base == -1
      bounds: {at: {first: _batch.base, last: _batch.most}}
    seq:
    - {id: delta, type: zig, -column: {name: at, type: 'timestamp[ms, UTC]', value: _batch.base + delta}}
    - {id: len_note, type: zig, -column: false, -derive: length_of(note)}
    - {id: note, size: len_note, type: str, encoding: UTF-8, if: len_note >= 0, -nullable: {if: len_note == -1}}
  zig: {-wire: zigzag32, seq: [{id: a, type: u1, repeat: until, repeat-until: _ < 0x80}], instances: {value: {value: 0}}}
enums:
  codec: {0: none, 1: {id: gzip, doc: D., doc-ref: R., -orig-id: GZIP}, 2: snappy}
"""
OTHER = """
meta: {id: other, title: T., file-extension: x, xref: {a: b}, tags: [c], ks-version: '0.10', encoding: UTF-8,
       endian: le, -orig-id: Other}
to-string: '"x"'
-versions: {field: version, range: 0-2}
-message: {kind: request, number: 3, topic: __topic, flexible: 2+}
-row: true
seq:
- {id: version, type: u1, valid: {min: 0, max: 2}}
- {id: magic, contents: [ab, 1]}
- {id: name, type: str, size: 4, valid: {eq: '"abcd"'}, -default: '"abcd"'}
- {id: word, type: str, size: 2, encoding: ASCII, valid: {expr: _ != "zz"}}
- {id: later, type: s4, if: version >= 1, -since: 1, -until: 2, -ignorable: true, -default: -1, doc: D., doc-ref: [R., S.]}
- {id: far, type: part(version), -column: far_away}
- {id: items, type: u2, repeat: expr, repeat-expr: 2}
- {id: ends, type: u1, repeat: until, repeat-until: _ == 0 or ends.size == 9}
- {id: what, size: 3, type: {switch-on: version, cases: {0: u1, _: u2}}}
- {id: section, type: tagged, if: version >= 2, -since: 2}
- {id: rest, size-eos: true, -orig-id: theRest}
instances:
  twice: {value: version * 2, doc: D., doc-ref: R., -orig-id: Twice}
types:
  part:
    doc: A part.
    params: [{id: version, type: u1, doc: D., doc-ref: R., -orig-id: V}]
    seq: [{id: a, type: u1}, {id: b, type: u1, if: version > 0}]
    instances: {first: {pos: _io.pos, type: u1, doc: D.}}
  tagged:
    -wire: tags
    seq: [{id: num, type: u1}, {id: list, type: entry, repeat: expr, repeat-expr: num}]
  entry:
    seq:
    - {id: tag, type: u1}
    - {id: len_body, type: u1}
    - {id: body, size: len_body, type: {switch-on: tag, cases: {0: u4, 1: u2}},
       -tags: {0: {id: topic_id, doc: D., doc-ref: R., -orig-id: T, -default: 7, -ignorable: true}, 1: short}}
enums:
  kind: {0: none, 1: {id: some, -since: 1, -until: 2}}
"""
THIRD = """
meta: {id: third, endian: be}
-names: {types: PascalCase, fields: camelCase}
seq: [{id: ofs, type: u4}]
instances: {body: {pos: ofs, size: 4, -align: {to: 16, fill: 1}}}
"""
TINY = "{meta: {id: tiny, endian: be}, seq: [{id: a, type: u1}]}"
BASE: dict[str, dict[str, Any]] = {
    name: yaml.safe_load(text) for name, text in (("log", LOG), ("other", OTHER), ("third", THIRD))
}
Place = tuple[Any, ...]
"""Keys and indexes from a schema's name to a scalar; the last may be KEY: the key before it, not its value."""
KEY = object()


def mappings(tree: dict[str, Any]) -> Iterator[tuple[str, Place]]:
    """Each mapping of a schema with its kind, as `keys.py` calls it."""
    yield from _mappings_of_type(tree, (), "schema")
    yield "meta", ("meta",)


def _mappings_of_type(node: dict[str, Any], at: Place, kind: str) -> Iterator[tuple[str, Place]]:
    yield kind, at
    for name, each in node.get("types", {}).items():
        yield from _mappings_of_type(each, (*at, "types", name), "type")
    for index, _ in enumerate(node.get("params", [])):
        yield "parameter", (*at, "params", index)
    for name in node.get("instances", {}):
        yield "instance", (*at, "instances", name)
        if isinstance(node["instances"][name].get("-align"), dict):
            yield "-align", (*at, "instances", name, "-align")
    for name, items in node.get("enums", {}).items():
        yield from (("enum value", (*at, "enums", name, v)) for v, i in items.items() if isinstance(i, dict))
    for key in ("-versions", "-message", "-names"):
        if isinstance(node.get(key), dict):
            yield key, (*at, key)
    if isinstance(node.get("-row"), dict):
        row = (*at, "-row")
        yield "-row", row
        columns = node["-row"].get("columns", [])
        yield from (
            ("column of a -row", (*row, "columns", i)) for i, c in enumerate(columns) if isinstance(c, dict)
        )
        yield from (("bound of a -row", (*row, "bounds", name)) for name in node["-row"].get("bounds", {}))
    for index, field in enumerate(node.get("seq", [])):
        here = (*at, "seq", index)
        yield "field", here
        for key, kind in (("type", "switch"), ("valid", "valid"), ("-derive", "-derive"), ("-codec", "-codec"), ("-column", "-column"), ("-nullable", "-nullable")):  # fmt: skip
            if isinstance(field.get(key), dict):
                yield kind, (*here, key)
        yield from (
            ("tag", (*here, "-tags", n)) for n, t in field.get("-tags", {}).items() if isinstance(t, dict)
        )


def at(tree: Any, place: Place) -> Any:
    for step in place:
        tree = tree[step]
    return tree


def leaves(tree: Any, place: Place) -> Iterator[Place]:
    """Every scalar below a place, and every key of what it does not know as mappings of the language."""
    yield place
    value = at(tree, place)
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        if isinstance(value, dict):
            yield (*place, key, KEY)
        yield from leaves(tree, (*place, key))


@cache
def places() -> tuple[Place, ...]:
    """Every place of every key of the language's table, in one or the other schema."""
    found: dict[Place, None] = {}
    for kind, keys in KEYS.items():
        for key in sorted(keys.plain | keys.own):
            holders = [(s, p) for s, tree in BASE.items() for k, p in mappings(tree) if k == kind]
            assert holders, f"the schemas of this test have no {kind}"
            having = [(s, p) for s, p in holders if key in at(BASE[s], p)]
            for schema, place in having:
                found |= dict.fromkeys((schema, *each) for each in leaves(BASE[schema], (*place, key)))
            schema, place = holders[0]
            found[schema, *place, key] = None
    return tuple(found)


def mutated(wanted: tuple[Place, ...], payload: str) -> dict[str, dict[str, Any]]:
    trees = copy.deepcopy(BASE)
    for place in wanted:
        owner = at(trees, place[: -2 if place[-1] is KEY else -1])
        if place[-1] is KEY:
            changed = {payload if key == place[-2] else key: value for key, value in owner.items()}
            owner.clear()
            owner.update(changed)
        else:
            # of two names of a document's fields one would be refused
            owner[place[-1]] = payload + "_" * len(place) if place[-1] == "-orig-id" else payload
    return trees


def put(folder: Path, trees: dict[str, dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.ksy").write_text(TINY)
    for name, tree in trees.items():
        (folder / f"{name}.ksy").write_text(_yaml(tree), encoding="utf-8")
    return folder


def _yaml(tree: dict[str, Any]) -> str:
    try:
        return yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False)
    except UnicodeEncodeError:  # libyaml, which is faster, takes no surrogate
        return yaml.safe_dump(tree, sort_keys=False)


@pytest.fixture(scope="module", autouse=True)
def _read_by_libyaml() -> Iterator[None]:
    """Half of the time went into parsing; what is judged here is the result. Surrogates stay as they were."""
    slow, fast = yaml.SafeLoader, yaml.CSafeLoader
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "SafeLoader", lambda text: (slow if "\\uD8" in text else fast)(text))
        yield


def accepted(folder: Path, wanted: tuple[Place, ...], payload: str) -> bool:
    """Whether the schemas are taken; where not, it is by a problem that reports it, shown in plain signs."""
    ours = {place[0] for place in wanted}
    trees = {name: tree for name, tree in mutated(wanted, payload).items() if name in ours}
    try:
        load(put(folder / "_".join(sorted(ours)), trees))
    except SchemaError as error:
        assert all(sign.isprintable() or sign == "\n" for sign in str(error))
        return False
    return True


def outermost(found: list[Place]) -> tuple[Place, ...]:
    """Inner places go with what holds them."""
    return tuple(p for p in found if not any(o != p and o == p[: len(o)] for o in found))


@cache
def made(folder: Path, wanted: tuple[Place, ...], payload: str) -> Output:
    """Modules, tests and the kernel of the schemas."""
    trees = put(folder, mutated(wanted, payload))
    return render_all(trees, package="made", kernels=["log"], targets=[*DEFAULT, "documents", "vectors"])


# -- what a text is, once the words in it are taken out


def python_shape(source: str) -> str:
    """The tree of a module, its strings blank. That the mark is in no name is checked on the way."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.Constant) and isinstance(value, (str, bytes)):
                setattr(node, name, type(value)())
            elif isinstance(value, str):
                assert MARK not in value, ast.dump(node)
    return ast.dump(tree)


_C = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|\w+|\s+|.', re.S)


def c_tokens(source: str) -> list[str]:
    found = []
    for token in _C.findall(source):
        assert "//" not in token or token.startswith(("/*", '"')), token
        if token.startswith(("/*", '"', "'")):
            found.append(token[:2] if token[0] == "/" else token[0])
        elif not token.isspace():
            assert MARK not in token
            found.append(token)
    return found


def json_shape(value: Any) -> Any:
    if isinstance(value, dict):
        assert not any(MARK in key for key in value)
        return {key: json_shape(each) for key, each in value.items() if key not in ("sha256", "model_sha256")}
    return [json_shape(each) for each in value] if isinstance(value, list) else type(value).__name__


def page_shape(source: str) -> None:
    """No tag and no link but our own; words may be more or fewer lines."""
    plain = re.sub(r"`[^`\n]*`", "", source.partition("\n")[2])
    plain = re.sub(
        r"^!\[The fields of each type, eight bytes in a line\]\([a-z_]+\.svg\)$", "", plain, flags=re.M
    )
    plain = re.sub(r'<a id="[a-z_-]+"></a>|(\[\]|\[[a-z_/]+\.ksy\])\([a-z_/.]*(#[a-z_-]+)?\)', "", plain)
    assert re.search(r"(?<!\\)(<|\]\(|!\[)", plain) is None, plain


def drawn_shape(source: str) -> list[Any]:
    """The elements of a picture and the names of their attributes, not its texts or how long they are."""
    return [(each.tag, sorted(each.attrib)) for each in ElementTree.fromstring(source).iter()]


SHAPES: dict[str, Callable[[str], Any]] = {
    ".py": python_shape,
    ".pyi": python_shape,
    ".c": c_tokens,
    ".h": c_tokens,
    ".md": page_shape,
    ".svg": drawn_shape,
    ".json": lambda source: json_shape(json.loads(source)),
}


def shapes(output: Output) -> dict[str, Any]:
    files = {**output.modules, **{f"tests/{name}": text for name, text in output.tests.items()}}
    return {name: SHAPES[Path(name).suffix](text) for name, text in files.items()}


# -- the tests


def test_the_schemas_of_this_test_are_taken_as_they_are(tmp_path: Path) -> None:
    output = made(tmp_path, (), "")
    assert {Path(name).suffix for name in output.modules} == set(SHAPES)
    assert 'return u->base == 0 ? "zstd" : "gzip";' in output.modules["kernels/log_core.c"]
    assert "read_log_rows" in output.modules["log.py"]
    assert len(places()) > 200


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, ...]:
    """Every place that takes words."""
    folder = tmp_path_factory.mktemp("documents")
    found = [place for place in places() if accepted(folder, (place,), BENIGN)]
    assert {place[-1] for place in found} >= {"doc", "title", "topic", "-orig-id", "contents"}
    return outermost(found)


@pytest.mark.parametrize("payload", HOSTILE)
def test_what_takes_words_holds_no_code(payload: str, documents: tuple[Place, ...], tmp_path: Path) -> None:
    shown = tuple(place for place in documents if place[-1] in ("doc", "title", "topic"))
    if payload in NO_TEXT:
        assert len(shown) > 10
        assert not any(accepted(tmp_path, (place,), HOSTILE[payload]) for place in shown)
    else:
        hostile = made(tmp_path / "hostile", documents, HOSTILE[payload])
        # `contents` are as long
        benign = "x" * len(HOSTILE[payload].encode())
        assert shapes(hostile) == shapes(made(tmp_path / "benign", documents, benign))


@pytest.mark.parametrize("payload", ["call", "name of the container", "infinite", "surrogate"])
def test_nothing_of_it_is_code_in_any_place(
    payload: str, documents: tuple[Place, ...], tmp_path: Path
) -> None:
    words = set(documents)
    others = [place for place in places() if not any(place[:n] in words for n in range(len(place) + 1))]
    assert len(others) > 150
    assert [place for place in others if accepted(tmp_path, (place,), HOSTILE[payload])] == []


PLACES_OF_NAMES = {
    "-row columns name": ("log", "types", "row", "-row", "columns", 1, "name"),
    "-row columns item": ("log", "types", "row", "-row", "columns", 2),
    "-row bounds": ("log", "types", "row", "-row", "bounds", "at", KEY),
    "-column name": ("log", "types", "row", "seq", 0, "-column", "name"),
    "-column": ("other", "seq", 5, "-column"),
    "-codec replace from": ("log", "seq", 6, "-codec", "replace", "gzip", KEY),
    "-codec replace to": ("log", "seq", 6, "-codec", "replace", "gzip"),
    "-tags": ("other", "types", "entry", "seq", 2, "-tags", 1),
    "-tags id": ("other", "types", "entry", "seq", 2, "-tags", 0, "id"),
    "-versions field": ("other", "-versions", "field"),
    "column type": ("log", "types", "row", "-row", "columns", 1, "type"),
}


@pytest.mark.parametrize("name", PLACES_OF_NAMES)
@pytest.mark.parametrize("payload", HOSTILE)
def test_names_are_names(name: str, payload: str, tmp_path: Path) -> None:
    assert not accepted(tmp_path, (PLACES_OF_NAMES[name],), HOSTILE[payload])


def test_a_python_keyword_may_be_a_column(codec: Callable[..., Any]) -> None:
    tree = copy.deepcopy(BASE["log"])
    tree["types"]["row"]["-row"]["columns"][1]["name"] = "class"
    del tree["meta"]["imports"]
    module = codec({"log.ksy": yaml.safe_dump(tree, sort_keys=False)}, "log")
    assert "class_" in module.RowRow.__slots__ and keyword.iskeyword("class")


@pytest.mark.parametrize("name", ["a\nb", "a b", "x;y", "x'", "a/../../b", "é"])
def test_a_path_of_another_kind_is_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    path = folder / f"{name}.ksy"
    path.parent.mkdir(parents=True, exist_ok=True)
    (folder / "a").mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump({"meta": {"id": path.stem}, "seq": [{"id": "a", "type": "u1"}]}))
    if not path.resolve().is_relative_to(folder.resolve()):
        (folder / "ok.ksy").write_text("meta: {id: ok}\nseq: [{id: a, type: u1}]\n")
        assert set(render_all(folder).modules) == {"ok.py", "__init__.py", "model.json", "MANIFEST.json"}
        return
    with pytest.raises(SchemaError, match="is not a name"):
        load(folder)


@pytest.mark.parametrize("package", ["a b", "a;b", "a..b", ".a", "import", "a\nb", "x.class", ""])
def test_a_package_that_is_none_is_refused(package: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not the name of a Python package"):
        generate(put(tmp_path / "s", BASE), tmp_path / "out", tests=tmp_path / "tests", package=package)
    assert not (tmp_path / "out").exists()


def test_no_link_is_followed_out_of_the_folder(tmp_path: Path) -> None:
    schemas, out = put(tmp_path / "schemas", BASE), tmp_path / "out"
    (schemas / "deep").mkdir()
    (schemas / "deep" / "x.ksy").write_text("meta: {id: x}\nseq: [{id: a, type: u1}]\n")
    precious = tmp_path / "precious.py"
    precious.write_text("# @generated by kodec.generator\n")
    generate(schemas, out)
    (out / "log.py").unlink()
    (out / "log.py").symlink_to(precious)
    generate(schemas, out)
    assert precious.read_text() == "# @generated by kodec.generator\n" and not (out / "log.py").is_symlink()
    for path in (out / "deep").iterdir():
        path.unlink()
    (out / "deep").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (out / "deep").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="leads out of"):
        generate(schemas, out)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_that_somebody_wrote_is_not_overwritten(tmp_path: Path) -> None:
    schemas, out = put(tmp_path / "schemas", BASE), tmp_path / "out"
    out.mkdir()
    (out / "log.py").write_text("print('by hand')\n")
    with pytest.raises(ValueError, match=r"log\.py does not carry our first line"):
        generate(schemas, out)
    assert [path.name for path in out.iterdir()] == ["log.py"]
    (out / "log.py").write_text("\n")
    generate(schemas, out)


def test_text_of_a_schema_does_not_become_a_str_by_itself() -> None:
    for use in (str, "{}".format, lambda text: f"{text}", "".join, lambda text: "" + text):
        with pytest.raises(TypeError):
            use(Text("x"))


@pytest.mark.parametrize("value", [Text("x"), None, 1.5, b"x"], ids=repr)
def test_a_template_cannot_print_what_nobody_put_into_words(value: object) -> None:
    with pytest.raises(TypeError, match=f"prints {type(value).__name__}"):
        Templates("kodec.generator.targets.python", mark=value, params=str).render(
            "test.py.j2", m=ContractTests(load(FORMATS).schemas[0], "made")
        )


def test_text_is_unwrapped_in_one_place_only() -> None:
    """Who writes `.raw` outside of text.py takes on what text.py is for."""
    root = Path(text_module.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        # a text is no function; a sink has one of this name
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        if any(
            isinstance(each, ast.Attribute) and each.attr == "raw" and id(each) not in called
            for each in nodes
        ):
            found.add(path.relative_to(root).as_posix())
    # the model's JSON holds every text as the string that it is
    assert found == {"text.py", "schema/model.py"}


DOCUMENTS = [f"{a}{b}{c}" for a, b, c in itertools.product(('"', '"""', "\\", "x", "- "), repeat=3)]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_any_document_is_one_docstring(document: str) -> None:
    made = text_module.docstring(Text(document), "    ")
    (only,) = ast.parse(f"class A:\n    {made}\n").body[0].body
    assert isinstance(only.value.value, str)


def test_problems_name_the_place(problems: Callable[..., list[SchemaProblem]]) -> None:
    found = problems(
        "-row: {columns: [{name: 'a=1;x', value: '1'}]}\nseq:\n- {id: a, type: u1, doc: \"\\u202Ex\"}\n"
    )
    assert [(str(p.place), p.text) for p in found] == [
        ("schemas/x.ksy:4:25", "the column `a=1;x` is not a name"),
        ("schemas/x.ksy:6:26", "`doc` holds U+202E, which displays as another text"),
    ]

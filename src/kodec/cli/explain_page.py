"""An explanation as pages: bytes beside a tree of fields; pointing at one highlights the other.

A page has its bytes and fields as compact data, and a script that draws the rows in sight; as markup, the
same would be ten times larger. Pages are cut by size. Each works alone, from a disk, without a network.
"""

from __future__ import annotations

import copy
import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from kodec.cli import output
from kodec.cli.hexdump import Colours, with_unit
from kodec.cli.lines import printable
from kodec.formats.explain import Area, Explanation, Field, Part
from kodec.stores.modes import narrow, readable_as

__all__ = ["Section", "write_pages"]

# The most bytes of the data of a page, and those of the first one, which should be there at once; what a
# field, with its name, may take of it.
PAGE, FIRST_PAGE, _FIELD = 460_000, 200_000, 16_000
MOST_PAGES = 40
# The most fields of a section: more need too much memory. As many as fill the first page.
MOST_FIELDS, FIRST_FIELDS = 500_000, 16_000
_LONGEST = 300
_GOES_ON = " (continued)"
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Section(NamedTuple):
    """A part of a file that is explained on its own: `explain` takes `most`, as `Explainer.explain` does."""

    title: str
    explain: Callable[..., Explanation]


class _Full(Exception):
    """No further page is written."""


class _Page:
    """What one page holds: `known` (fields with their units, colours and docs) and `areas` are its data.

    An area has `parts` in order: [size, note, field...]; and `others`: [start, size, field]. A field is three
    values: the place of its name in `known`, its indexes (0: those of the field before), its value.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.names: dict[tuple[str, str], int] = {}
        self.known: list[tuple[str, str, int, str]] = []
        self.indexes: list[int] = []
        self.areas: list[dict[str, Any]] = []
        self.notes: list[str] = []
        # about the bytes of its data
        self.size = 0

    @property
    def is_full(self) -> bool:
        return self.size > self.most - _FIELD


def write_pages(
    path: Path, source: Path, title: str, sections: Iterable[Section], *, overwrite: bool
) -> bool:
    """Write the first page to `path`, and further ones into a folder beside it, `NAME.pages`.

    The first page is there before the others are made, and is rewritten with links to them.

    Returns: whether every field is on a page, and no byte is wrong.
    Raises: FileExistsError; ValueError if a page would overwrite the explained file.
    """
    folder = path.with_name(f"{path.stem}.pages")
    if source.resolve() == path.resolve() or source.resolve().parent == folder.resolve():
        raise ValueError(f"--html: {path} is the file to explain")
    for target in (path, folder):
        if not overwrite and target.exists():
            raise FileExistsError(f"{target} exists; overwrite=True replaces it")
    for page in folder.glob("[0-9]*.html"):
        page.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    with readable_as(source):
        return _Book(path, folder, title).write(sections)


class _Book:
    """The pages of a file, one after the other."""

    def __init__(self, path: Path, folder: Path, title: str) -> None:
        self.path, self.folder, self.title = path, folder, title
        self.page = _Page(FIRST_PAGE)
        self.count = 0
        self.colours = Colours()
        # it ends with the first page
        self.is_draft = False
        # of the areas that are written: the byte of the file, and that of the area at which its data begins
        self.position = self.data_start = 0

    def write(self, sections: Iterable[Section]) -> bool:
        well = True
        first = self.page
        try:
            for title, explain in sections:
                explanation = explain(most=MOST_FIELDS if self.count else FIRST_FIELDS)
                if explanation.rest is not None and not self.count:
                    self._draft(title, explanation)
                    explanation = explain(most=MOST_FIELDS)
                well = self._section(title, explanation) and well
            if not self.page.areas:
                self.page.areas.append(_area("The file is empty.", "", 0))
            self._close(goes_on=False)
        except _Full:
            well = False
        if self.count > 1:
            self._write(first, 1, goes_on=False)
            output.say(f"{self.path}: the first of {self.count} pages; the others are in {self.folder}")
        return well

    def _draft(self, title: str, explanation: Explanation) -> None:
        """Write the first page before everything is known, if what is known fills it."""
        draft = copy.copy(self)
        draft.is_draft, draft.page, draft.colours = True, *copy.deepcopy((self.page, self.colours))
        with suppress(_Full):
            draft._section(title, explanation)

    def _note(self, text: str) -> None:
        self.page.notes.append(text)
        output.warn(text)

    def _section(self, title: str, explanation: Explanation) -> bool:
        for area in explanation.areas:
            if not area.path:
                self.position = area.position
            self._begin(f"{area.path}: {area.note}" if area.path else title or self.title, area, 0)
            for part in area.parts:
                self._part(area, part)
            for part in area.others:
                self._others(area, part)
            self._end(area, len(area.data))
        if explanation.error is not None:
            self.page.areas[-1]["error"] = text = printable(str(explanation.error))[:_LONGEST]
            self.page.size += 6 * len(text)
        if explanation.rest is not None and not self.is_draft:
            text = f"More than {MOST_FIELDS:,} fields: some after byte {explanation.rest:,} are not shown."
            more = (
                f"`--at {explanation.rest}` begins there."
                if not title
                else "Without --html, all are printed."
            )
            self._note(f"{text} {more}")
        return explanation.error is None and explanation.rest is None

    # -- what fits on a page ----------------------------------------------------------------------

    def _begin(self, title: str, area: Area, position: int) -> None:
        if self.page.is_full:
            self._close(goes_on=True)
        self.data_start = position
        self.page.areas.append(
            _area(printable(title)[:_LONGEST], area.path[:_LONGEST], area.position + position)
        )
        self.page.size += 6 * len(title[:_LONGEST]) + 200

    def _end(self, area: Area, position: int) -> None:
        self.page.areas[-1]["data"] = b64encode(area.data[self.data_start : position]).decode()

    def _next(self, area: Area, position: int) -> None:
        """Go on with an area on the next page."""
        title = self.page.areas[-1]["title"].removesuffix(_GOES_ON)
        self._end(area, position)
        if not area.path:
            self.position = area.position + position
        self._begin(title + _GOES_ON, area, position)

    def _part(self, area: Area, part: Part) -> None:
        position, written = part.start, 0
        while True:
            if self.page.is_full:
                self._next(area, position)
            size = min(part.end - position, (self.page.most - self.page.size) // 2)
            position += size
            entry: list[Any] = [size, part.note or 0]
            self.page.areas[-1]["parts"].append(entry)
            self.page.size += size * 4 // 3 + len(part.note) + 8
            # on each page, the bytes of a field are with its name
            for field in part.fields[written:] or part.fields[:1]:
                entry += self._field(field)
                written += 1
                if self.page.is_full:
                    break
            if position == part.end and written >= len(part.fields):
                return

    def _others(self, area: Area, part: Part) -> None:
        for field in part.fields:
            if self.page.is_full:
                self._next(area, len(area.data))
            span = part.start - self.data_start, part.end - part.start
            self.page.areas[-1]["others"].append([*span, *self._field(field)])
            self.page.size += 30

    def _field(self, field: Field) -> tuple[int, list[int] | int, str]:
        name = Colours.name(field.path), field.unit
        text = with_unit(field._replace(unit=""))[: 4 * _LONGEST]
        indexes = [int(piece.partition("]")[0]) for piece in field.path.split("[")[1:]]
        page = self.page
        if name not in page.names:
            page.names[name] = len(page.known)
            doc = printable(field.doc[:_LONGEST])
            page.known.append((name[0][: 4 * _LONGEST], field.unit, self.colours.of(field), doc))
            page.size += len(_json(page.known[-1]).encode()) + 1
        same, page.indexes = indexes == page.indexes, indexes
        page.size += len(_json(text).encode()) + (0 if same else 8 * len(indexes)) + 8
        return page.names[name], 0 if same else indexes, text

    # -- files ------------------------------------------------------------------------------------

    def _close(self, *, goes_on: bool) -> None:
        """Write the page, and begin another. Raises _Full."""
        self.count += 1
        full = goes_on and self.count == MOST_PAGES
        if full:
            self._note(f"The rest is not shown: `--at {self.position}` explains the file from there.")
        self._write(self.page, self.count, goes_on=goes_on and not full)
        self.page = _Page(PAGE)
        if full or self.is_draft:
            raise _Full

    def _write(self, page: _Page, number: int, *, goes_on: bool) -> None:
        if number > 1:
            self.folder.mkdir(exist_ok=True)
        notes = [f'<p class="wrong">{escape(note)}</p>' for note in page.notes]
        text = _template("page.html").format(
            title=escape(self.title),
            style=_template("explain.css"),
            script=_template("explain.js"),
            policy=_policy(),
            pages=self._links(number, goes_on),
            notes="\n".join(notes),
            data=_json({"names": page.known, "areas": page.areas}),
        )
        with self._file(number).open("w", encoding="utf-8") as file:
            narrow(file.fileno())
            file.write(text)

    def _file(self, number: int) -> Path:
        return self.path if number == 1 else self.folder / f"{number}.html"

    def _links(self, number: int, goes_on: bool) -> str:
        """To all pages, on the first one; else to those around."""
        if number == 1 and self.count == 1 and not goes_on:
            return ""
        others = (
            range(1, self.count + 1) if number == 1 else (1, number - 1, *([number + 1] if goes_on else []))
        )
        words = {1: "First page", number - 1: "Previous", number + 1: "Next"} if number > 1 else {}
        links = [f"<span>Page {number}</span>"]
        if number == 1 and goes_on:
            links = ["<span>Page 1; the others are being made</span>"]
        for other in dict.fromkeys(others):
            if other != number:
                folder = quote(self.folder.name) + "/" if number == 1 else "" if other > 1 else "../"
                file = quote(self.path.name) if other == 1 else f"{other}.html"
                links.append(f'<a href="{folder}{file}">{words.get(other, other)}</a>')
        return f'<nav aria-label="Pages">{" ".join(links)}</nav>'


@cache
def _template(name: str) -> str:
    return (files("kodec.cli") / "templates" / name).read_text("utf-8")


@cache
def _policy() -> str:
    """What a browser may load and run: the page's own style and script, by their hashes."""
    hashes = {}
    for name in ("explain.css", "explain.js"):
        hashes[name] = b64encode(sha256(_template(name).encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{hashes['explain.css']}'; "
        f"script-src 'sha256-{hashes['explain.js']}'; base-uri 'none'; form-action 'none'"
    )


def _area(title: str, path: str, position: int) -> dict[str, Any]:
    return {"title": title, "path": path, "at": position, "data": "", "parts": [], "others": [], "error": ""}


def _json(value: Any) -> str:
    """Data inside of a script element: no value in it can end the element or begin a comment."""
    text = _ENCODER.encode(value)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")

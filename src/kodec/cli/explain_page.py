"""An explanation as a self-contained page: pointing at a byte or a field highlights the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from kodec.cli.hexdump import shown
from kodec.formats.explain import Area, Explanation, Part

__all__ = ["write_page"]

_MOST_BYTES = 4 << 20
_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>
:root {{ color-scheme: light dark; --mark: #ffd54a; }}
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 1rem; }}
main {{ display: grid; grid-template-columns: 36rem 1fr; gap: 1rem; align-items: start; }}
pre, td {{ font: 13px/1.5 ui-monospace, monospace; }}
pre {{ margin: 0; position: sticky; top: 0; max-height: 100vh; overflow: auto; }}
pre b {{ font-weight: normal; }} pre b:nth-of-type(odd), tr:nth-child(odd) {{ background: #8882; }}
td {{ padding: 0 .6rem; vertical-align: top; overflow-wrap: anywhere; }}
td:first-child {{ text-align: right; }}
.on, tr.on {{ background: var(--mark) !important; color: #000; }}
.wrong {{ color: #c22; font-weight: bold; }}
</style>
<h1>{title}</h1>
"""
_TAIL = """<script>
let lit = [];
document.addEventListener("mouseover", event => {
  const part = event.target.closest("[data-part]");
  for (const each of lit) each.classList.remove("on");
  lit = part ? [...document.querySelectorAll(`[data-part="${part.dataset.part}"]`)] : [];
  for (const each of lit) each.classList.add("on");
  const others = lit.filter(each => each.tagName !== part.tagName);
  for (const each of others) each.scrollIntoView({block: "nearest"});
});
</script>
"""


def write_page(
    path: Path, source: Path, sections: Iterable[tuple[str, Explanation]], *, overwrite: bool
) -> bool:
    """Write the page; return whether an error was found. After 4 MiB the page stops and reports this.

    Raises: FileExistsError; ValueError if the page would overwrite the explained file.
    """
    if path.resolve() == source.resolve():
        raise ValueError(f"--html: {path} is the file to explain")
    path.parent.mkdir(parents=True, exist_ok=True)
    wrong, size, number = False, 0, 0
    with path.open("w" if overwrite else "x", encoding="utf-8") as page:
        page.write(_HEAD.format(title=escape(source.name)))
        for title, found in sections:
            size += sum(len(area.data) for area in found.areas)
            if size > _MOST_BYTES:
                page.write(
                    f"<p class=wrong>The rest is omitted: only {_MOST_BYTES >> 20} MiB are shown.</p>\n"
                )
                break
            for area in found.areas:
                heading = f"{area.path}: {area.note}" if area.path else title
                page.write(f"<h2>{escape(heading)}</h2>\n<main>\n")
                page.writelines(_area(area, number))
                page.write("</main>\n")
                number += len(area.parts)
            if found.error is not None:
                wrong = True
                page.write(f"<p class=wrong>{escape(str(found.error))}</p>\n")
        page.write(_TAIL)
    return wrong


def _area(area: Area, number: int) -> Iterator[str]:
    yield "<pre>"
    for at, part in enumerate(area.parts, number):
        yield f"<b data-part={at}>{_hex(area, part)}</b>"
    yield "</pre>\n<table>\n"
    for at, part in enumerate(area.parts, number):
        labels = "<br>".join(f"{escape(name)} = {escape(shown(value))}" for name, value in part.fields)
        note = f" <i>{escape(part.note)}</i>" if part.note else ""
        place = f"<td>{area.position + part.start}<td>{part.end - part.start}"
        yield f"<tr data-part={at}>{place}<td>{labels}{note}\n"
    yield "</table>\n"


def _hex(area: Area, part: Part) -> str:
    """The bytes of a part, with a line break after every 16th byte of the area."""
    rows = []
    at = part.start
    while at < part.end:
        stop = min(part.end, at - at % 16 + 16)
        rows.append(area.data[at:stop].hex(" ") + (" " if stop % 16 else "\n"))
        at = stop
    return "".join(rows)

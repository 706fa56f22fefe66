"""Pictures of layouts: the fixed bytes of a type, eight in a line, as SVG in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["picture"]

_WIDE = 8
_BYTE, _LINE, _LEFT = 84, 36, 40
# A picture helps where there is something to see, and not where it is a page long.
_LEAST, _MOST = 8, 256


class _Box(NamedTuple):
    start: int
    size: int
    name: str


def picture(rows: Sequence[tuple[str, str, str]]) -> str:
    """The SVG of a type's fields at fixed places; "" where these are few.

    Args:
        rows: where a field starts, its size, both in bytes, and its name, as the page has them; bits of a
            field are rows with a name of their own, `attributes.compression`.
    """
    boxes = [
        _Box(int(at), int(size), name)
        for at, size, name in rows
        if at.isdigit() and size.isdigit() and int(size) and "." not in name
    ]
    end = max((box.start + box.size for box in boxes), default=0)
    if not _LEAST <= end <= _MOST:
        return ""
    lines = -(-end // _WIDE)
    height = (lines + 1) * _LINE + 2
    drawn = [
        f'<svg viewBox="0 0 {_LEFT + _WIDE * _BYTE + 2} {height}" role="img" class="layout">',
        *(_text(_LEFT + (each + 0.5) * _BYTE, _LINE - 10, str(each), "index") for each in range(_WIDE)),
        *(_text(_LEFT - 8, (each + 1.6) * _LINE, str(each * _WIDE), "start") for each in range(lines)),
        *(part for box in boxes for part in _parts(box)),
        "</svg>",
    ]
    return "".join(drawn)


def _parts(box: _Box) -> Iterator[str]:
    """A box for each line that a field is in; its name is in the longest of them."""
    spans = []
    at, end = box.start, box.start + box.size
    while at < end:
        stop = min(end, (at // _WIDE + 1) * _WIDE)
        spans.append((at, stop - at))
        at = stop
    named = max(spans, key=lambda span: span[1])
    for at, size in spans:
        x, y, width = _LEFT + at % _WIDE * _BYTE, (at // _WIDE + 1) * _LINE, size * _BYTE
        title = f"<title>{escape(box.name)}</title>"
        yield f'<rect x="{x}" y="{y}" width="{width}" height="{_LINE}">{title}</rect>'
        if (at, size) == named:
            # a letter is some 7 wide
            most = max(width // 7 - 1, 1)
            name = box.name if len(box.name) <= most else f"{box.name[: most - 1]}…"
            yield _text(x + width / 2, y + _LINE / 2 + 4, name, "name")
        else:
            yield _text(x + width / 2, y + _LINE / 2 + 4, "…", "name")


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(text)}</text>'

"""A report as text, JSON and HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from kodec.conformance.run import BROKEN, CHECKS, Report, Result

__all__ = ["FORMS", "as_html", "as_json", "as_text"]

_TITLES = {
    "decode": "decoded",
    "refuse": "refused",
    "may": "either is right",
    "encode": "encoded",
    "round_trip": "round trips",
    "refuse_value": "values refused",
    "instances": "instances",
}
_MOST = 40


def as_text(report: Report) -> str:
    """The report for a terminal: the counts, the first failures, and unexpected results."""
    return "\n".join([*_head(report), "", *_table(report), *_failures(report), ""])


def _head(report: Report) -> Iterator[str]:
    says = report.testee
    yield f"{says['name']} ({says['language']}, {says['version']})"
    yield f"{len({result.vector.id for result in report.results})} vectors of {report.suite}"


def _rows(report: Report) -> Iterator[tuple[str, int, int, int, int, int]]:
    """(what, all, passed, failed, known, unsupported) of each check."""
    for check in CHECKS:
        if count := report.count(check):
            failed = sum(report.count(check, outcome) for outcome in ("failed", *BROKEN))
            passed, known, lacks = (
                report.count(check, outcome) for outcome in ("passed", "known", "unsupported")
            )
            yield _TITLES[check], count, passed, failed, known, lacks


def _table(report: Report) -> Iterator[str]:
    yield f"{'':16}{'all':>8}{'passed':>8}{'failed':>8}{'known':>8}{'unsupported':>13}"
    for what, *counts, unsupported in _rows(report):
        yield f"{what:16}" + "".join(f"{count:8}" for count in counts) + f"{unsupported:13}"


def _failures(report: Report) -> Iterator[str]:
    failures = report.failures
    if failures:
        yield ""
    for failure in failures[:_MOST]:
        yield f"{failure.outcome}: {failure.vector.id} ({_TITLES[failure.check]}): {failure.text}"
    if len(failures) > _MOST:
        yield f"... and {len(failures) - _MOST} more; --format json has all"
    for text in report.unexpected:
        yield f"unexpected pass: {text}"
    if report.gave_up is not None:
        yield f"gave up: {report.gave_up}"


def as_json(report: Report) -> str:
    """The whole report; of passed checks only the numbers."""
    document: dict[str, Any] = {
        "suite": report.suite,
        "testee": {key: value for key, value in report.testee.items() if key != "id"},
        "is_right": report.is_right,
        "starts": report.starts,
        "counts": {
            what: dict(zip(("all", "passed", "failed", "known", "unsupported"), counts, strict=True))
            for what, *counts in _rows(report)
        },
        "results": [_shown(result) for result in report.results if result.outcome != "passed"],
        "unexpected": list(report.unexpected),
        "gave_up": report.gave_up,
    }
    return json.dumps(document, indent=1) + "\n"


def _shown(result: Result) -> dict[str, Any]:
    vector = result.vector
    return {
        "vector": vector.id,
        "tests": vector.tests,
        "origin": vector.origin,
        "check": result.check,
        "outcome": result.outcome,
        "text": result.text,
    }


def as_html(report: Report) -> str:
    """One page without scripts; the testee's text is escaped."""
    says = report.testee
    title = escape(f"{says['name']}: conformance")
    rows = "".join(
        f"<tr><td>{what}</td>{''.join(f'<td>{count}</td>' for count in counts)}</tr>\n"
        for what, *counts in _rows(report)
    )
    other = [result for result in report.results if result.outcome not in ("passed", "unsupported")]
    failures = "".join(
        f"<tr><td>{result.outcome}</td><td>{escape(result.vector.id)}</td><td>{escape(result.vector.tests)}</td>"
        f"<td>{escape(result.vector.origin)}</td><td>{_TITLES[result.check]}</td><td>{escape(result.text)}</td></tr>\n"
        for result in other
    )
    notes = "".join(f"<p>unexpected pass: {escape(text)}</p>\n" for text in report.unexpected)
    if report.gave_up is not None:
        notes += f"<p>gave up: {escape(report.gave_up)}</p>\n"
    head = "<br>\n".join(map(escape, _head(report)))
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        "<style>body{font-family:sans-serif}td,th{padding:.2em .8em;text-align:left}</style>\n"
        f"<h1>{title}</h1>\n<p>{head}</p>\n<table>\n"
        "<tr><th></th><th>all</th><th>passed</th><th>failed</th><th>known</th><th>unsupported</th></tr>\n"
        f"{rows}</table>\n{notes}<h2>What did not pass</h2>\n<table>\n"
        "<tr><th>outcome</th><th>vector</th><th>tests</th><th>origin</th><th>check</th><th></th></tr>\n"
        f"{failures}</table>\n</html>\n"
    )


FORMS = {"text": as_text, "json": as_json, "html": as_html}

"""Converts pages in Markdown to self-contained HTML."""

from __future__ import annotations

import html
import re

from markdown_it import MarkdownIt

__all__ = ["page_of"]

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2rem .5rem;text-align:left;"
    "vertical-align:top}code,pre{background:#f4f4f4}@media(prefers-color-scheme:dark)"
    "{body{background:#111;color:#ddd}a{color:#8bf}code,pre{background:#222}}"
)


def page_of(markdown: str) -> str:
    """The page, with links to other pages leading to their HTML."""
    body = MarkdownIt("commonmark").enable("table").render(markdown)
    body = re.sub(r'(<a href="(?![a-z]+:)[^"#]*)\.md((?:#[^"]*)?")', r"\1.html\2", body)
    heading = re.search(r"<h1>(.*?)</h1>", body, re.DOTALL)
    title = html.escape(html.unescape(re.sub(r"<[^>]*>", "", heading[1])) if heading else "")
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n{body}</html>\n'
    )

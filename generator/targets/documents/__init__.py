"""Pages in Markdown for people, with diagrams: of each schema its types, layouts, fields and enums."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.problems import SchemaProblem
from kodec.generator.target import File, Request, mark
from kodec.generator.targets.documents.diagram import diagram
from kodec.generator.targets.documents.plan import Page, pages
from kodec.generator.templates import Templates

__all__ = ["TARGET"]

INDEX = "index.md"
_TEMPLATES = Templates("kodec.generator.targets.documents")


class _Documents:
    """A page for each schema next to its path, and an index of them."""

    name = "documents"
    files = ("*.md", "*.svg")

    def lacks(self, request: Request) -> Iterator[SchemaProblem]:
        for schema in request.model.schemas:
            if schema.path == INDEX.replace(".md", ".ksy"):
                text = f"its page would be {INDEX}, which lists all pages"
                yield SchemaProblem(schema.root.place, schema.id, text, "give it another name")

    def plan(self, request: Request) -> tuple[Page, ...]:
        return tuple(pages(request.model))

    def emit(self, plan: tuple[Page, ...]) -> Iterator[File]:
        for page in plan:
            drawn = diagram(page)
            path = page.path.removesuffix(".md") + ".svg"
            picture = path.rpartition("/")[2] if drawn else ""
            text = _TEMPLATES.render("page.md.j2", page=page, mark=mark(page.schema), picture=picture)
            yield File(page.path, text, page.schema)
            if drawn:
                yield File(path, f"<!-- {mark(page.schema)} -->\n{drawn}", page.schema)
        yield File(INDEX, _TEMPLATES.render("index.md.j2", pages=plan, mark=mark()))


TARGET = _Documents()

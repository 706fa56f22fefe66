"""Java classes that read: a record for each type, and the columns of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kodec.generator.passes import why_streamed
from kodec.generator.problems import Problem
from kodec.generator.schema.model import Field, Instance, Param, Tag
from kodec.generator.target import File, Request, mark
from kodec.generator.targets.java.expressions import Beyond
from kodec.generator.targets.java.module import ClassOf
from kodec.generator.targets.java.names import Names, component, lower
from kodec.generator.targets.java.views import TopView
from kodec.generator.targets.python.facts import Facts
from kodec.generator.templates import Templates

__all__ = ["TARGET"]

FOLDER = "java"
_TEMPLATES = Templates("kodec.generator.targets.java")
_PACKAGE = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*")
MOST_COMPONENTS = 120


class _Java:
    """A class for each schema that has types of its own, in `java/`."""

    name = "java"
    files = ("*.java",)

    def lacks(self, request: Request) -> Iterator[Problem]:
        """Streamed schemas, names that Java cannot tell apart, expressions beyond 64 bits."""
        if _PACKAGE.fullmatch(request.java_package) is None:
            raise ValueError(f"`{request.java_package}` is not the name of a Java package")
        back = Facts(request.model)
        names = Names(back, request.java_package)
        paths: dict[str, str] = {}
        for schema in request.model.schemas:
            if schema.streamed:
                found = why_streamed(request.model, schema)
                place = schema.root.place if found is None else found.place
                what = "its fields may be absent" if found is None else f"{found.path}: {found.text}"
                text = f"it cannot have Java classes, as it is read from streams: {what}"
                yield Problem(place, schema.id, text)
                continue
            path = f"{names.package(schema)}.{names.tops[schema.id]}".lower()
            if path in paths:
                text = f"its Java class would be that of `{paths[path]}`"
                yield Problem(schema.root.place, schema.id, text)
            paths[path] = schema.id
            yield from self._unspeakable(back, names, schema.id)

    @staticmethod
    def _unspeakable(back: Facts, names: Names, schema_id: str) -> Iterator[Problem]:
        schema = back.model.schema(schema_id)
        for struct in schema.structs:
            taken: dict[str, str] = {}
            tags = [tag for spec in struct.fields if (it := back.tag_section(spec)) for tag in it.tags]
            members: list[Param | Field | Instance | Tag] = [
                *struct.params,
                *struct.fields,
                *struct.instances,
                *tags,
            ]
            for spec in members:
                name = lower(spec.id)
                if name in taken:
                    text = f"`{taken[name]}` and `{spec.id}` are both `{component(spec.id)}` in Java"
                    place = struct.place if isinstance(spec, Tag) else spec.place
                    yield Problem(place, struct.name, text)
                taken[name] = spec.id
            for each in struct.fields:
                if back.layouts.optional(struct, each):
                    text = "it may be absent, which a Java class cannot say; give it a `-default`"
                    yield Problem(each.place, f"{struct.name}.{each.id}", text)
            if len(struct.fields) > MOST_COMPONENTS:
                yield Problem(
                    struct.place, struct.name, f"more than {MOST_COMPONENTS} fields for a Java record"
                )
        try:
            ClassOf(back, names, schema).build()
        except Beyond as error:
            text = f"`{error}` is beyond what Java classes compute"
            yield Problem(schema.root.place, schema.id, text)

    def plan(self, request: Request) -> tuple[TopView, ...]:
        back = Facts(request.model)
        names = Names(back, request.java_package)
        return tuple(
            ClassOf(back, names, schema).build() for schema in request.model.schemas if back.wanted(schema)
        )

    def emit(self, plan: tuple[TopView, ...]) -> Iterator[File]:
        for view in plan:
            text = _TEMPLATES.render("class.java.j2", v=view, mark=mark(view.schema))
            yield File(f"{FOLDER}/{view.path}", text, view.schema)


TARGET = _Java()

"""Containers: how their stored content becomes parsed content, and back."""

from __future__ import annotations

from kodec.generator.layout import Layout
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Field, Ref, Struct, Switch
from kodec.generator.targets.python.expressions import emit
from kodec.generator.targets.python.facts import Env
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.python.reader import Reader
from kodec.generator.targets.python.views import Decode, Swap

__all__ = ["Containers"]


class Containers(Reader):
    """Types with a compressible field."""

    def decode(self, struct: Struct, layout: Layout, holder: Field) -> Decode:
        codec = holder.codec
        assert codec is not None
        env = Env({f.id: f"v.{attribute(f.id)}" for f in struct.fields}, struct)
        # what is checked against parsed content is checked before that is put in its place
        parsed = Env({**env.names, holder.id: "found"}, struct)
        inner = self.model.struct(codec.inner)
        read, _ = self.call("read", inner, (), env)
        write, _ = self.call("write", inner, (), env)
        when = None if codec.when is None else self.layouts.inline(struct, codec.when)
        names = {item.value: item.id for item in self.model.enum(self._codec_enum(struct, codec.by)).items}
        by_path = ex.text_of(codec.by)
        return Decode(
            field=attribute(holder.id),
            path=holder.id,
            by=emit(self.layouts.inline(struct, codec.by), env, self.model),
            by_path=by_path,
            by_place=self.back.places(struct).get(by_path.partition(".")[0], 0),
            names=names,
            known=", ".join(f"{value} ({name})" for value, name in names.items()),
            swap=tuple(Swap(old, new) for old, new in codec.replace),
            when=None if when is None else emit(when, env, self.model),
            read=read,
            write=write,
            parsed_plain=isinstance(holder.type, (Switch, Ref)),
            nullable=holder.nullable is not None,
            checks=self.derived_checks(struct, layout, parsed, after_head=True),
        )

    def _codec_enum(self, struct: Struct, by: ex.Expr) -> str:
        """The enum of the field that `by` names, across nested types."""
        path: list[str] = []
        at = by
        while isinstance(at, ex.Attr):
            path.insert(0, at.name)
            at = at.of
        assert isinstance(at, ex.Name)
        found = struct.field(at.name)
        for name in path:
            assert found is not None and isinstance(found.type, Ref)
            found = self.model.struct(found.type.target).field(name)
        assert found is not None and found.enum is not None
        return found.enum

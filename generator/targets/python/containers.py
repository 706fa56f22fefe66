"""Containers: how their stored content becomes parsed content, and back."""

from __future__ import annotations

from kodec.generator.layout import Layout
from kodec.generator.schema import expr as ex
from kodec.generator.schema.model import Field, Ref, Struct, Switch
from kodec.generator.schema.roles import codec_enum
from kodec.generator.targets.python.expressions import emit
from kodec.generator.targets.python.facts import Env
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.python.reader import Reader
from kodec.generator.targets.python.views.modules import Decode, Swap

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
        names = {
            item.value: item.id for item in self.model.enum(codec_enum(self.model, struct, codec.by)).items
        }
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

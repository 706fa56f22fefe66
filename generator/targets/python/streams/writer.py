"""How the fields and instances of a streamed type are written."""

from __future__ import annotations

from kodec.generator.schema import expr as ex
from kodec.generator.schema.kinds import Scope, without_case
from kodec.generator.schema.model import Bits, Bytes, Field, Instance, Prim, Ref, Str, Struct, Switch, TypeRef
from kodec.generator.targets.python.expressions import COMPARED
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.python.streams.expressions import Here
from kodec.generator.targets.python.streams.reader import Plans
from kodec.generator.targets.python.streams.runs import (
    Run,
    looks_at_stream,
    only_where_it_stands,
    other_stream,
    runs_of,
)
from kodec.generator.targets.python.streams.views import Block, Code
from kodec.generator.wire import ENCODINGS

__all__ = ["Writer"]


class Writer(Plans):
    """The lines that write."""

    def write(self, struct: Struct) -> list[Code]:
        here = Here(Scope(struct), io="io", stream="_stream")
        lines: list[Code] = [] if struct.endian is None else self.endian(struct, here)
        bits: str | None = None
        for step in runs_of(struct, self.timely, writing=True, loose=self.loose):
            order = None
            if isinstance(step, Field) and isinstance(step.type, Bits):
                order = step.type.endian
            if bits is not None and order != bits and (order is not None or not self.loose):
                lines.append("io.align()")
            bits = order
            if isinstance(step, Run):
                values = ", ".join(f"self.{attribute(slot.fields[0].id)}" for slot in step.slots)
                lines += self.aligned([f"io.pack({self.run_name(step)}, {values})"])
            else:
                lines += self.conditional(struct, step, here)
        if bits is not None and not self.loose:
            lines.append("io.align()")
        for instance in struct.instances:
            if instance.reads is not None and instance.position is not None:
                call = f"self._write_{instance.id}"
                written = f"{call}()" if other_stream(instance) is None else f"io.state.later.append({call})"
                lines.append(Block(f'if self._has("{instance.id}"):', (written,)))
        return lines

    def conditional(self, struct: Struct, spec: Field, here: Here) -> list[Code]:
        """Write a field where its condition holds; elsewhere it must not be given."""
        value = f"self.{attribute(spec.id)}"
        body = self.field(struct, spec, here, value)
        if spec.condition is None:
            return body
        if looks_at_stream(spec.condition, struct):
            # how long the stream will be is not known yet: what is given is written
            return [Block(f"if {value} is not None:", tuple(body))]
        refused = f'io.refuse("{spec.id}", "given, but its condition does not hold", None, {value})'
        return [
            Block(f"if {self.emitter.value(spec.condition, here)}:", tuple(body)),
            Block(f"elif {value} is not None:", (refused,)),
        ]

    def field(self, struct: Struct, spec: Field, here: Here, value: str) -> list[Code]:
        if spec.repeat is None:
            # what is not given is refused as it is written; rules compare only what is there
            return [*self.value(struct, spec.type, spec, here, value, ""), *self.rules(spec, value, here)]
        lines: list[Code] = []
        if spec.repeat_expr is not None and not looks_at_stream(spec.repeat_expr, struct):
            count = self.emitter.compared(spec.repeat_expr, here)
            wrong = f'io.refuse("{spec.id}", "wrong number of elements", {count.alone}, len({value}))'
            lines.append(Block(f'if len(io.items({value}, "{spec.id}")) != {count.beside}:', (wrong,)))
        inner = here.with_item(self.kinds.element(spec), "item", "i")
        body = [*self.value(struct, spec.type, spec, inner, "item", ", i"), *self.rules(spec, "item", inner)]
        if spec.repeat_until is not None and not looks_at_stream(spec.repeat_until, struct):
            ends = self.emitter.value(self.so_far(spec, spec.repeat_until), inner, COMPARED)
            text = "the condition that ends it must hold at its last element, and only there"
            wrong = f'io.refuse("{spec.id}", "{text}", None, item)'
            body.append(Block(f"if {ends} != (i + 1 == len({value})):", (wrong,)))
            wrong = f'io.refuse("{spec.id}", "at least one element is needed", None, {value})'
            lines.append(Block(f"if not {value}:", (wrong,)))
        lines.append(Block(f'for i, item in enumerate(io.items({value}, "{spec.id}")):', tuple(body)))
        return lines

    @staticmethod
    def so_far(spec: Field, until: ex.Expr) -> ex.Expr:
        """The condition, in which the size of the list is that when the element was read."""

        def swap(part: ex.Expr) -> ex.Expr | None:
            if isinstance(part, ex.Attr) and part.of == ex.Name(spec.id) and part.name in ("size", "length"):
                return ex.Binary("+", ex.Name("_index"), ex.Literal(1))
            return None

        return ex.replace(until, swap)

    def value(
        self, struct: Struct, kind: TypeRef, spec: Field, here: Here, value: str, index: str
    ) -> list[Code]:
        """Write one value; `index` is the rest of a call that names an element of a list."""
        name = f'"{spec.id}"'
        match kind:
            case Prim() as prim:
                if prim.endian == "by" and prim.width > 1:
                    little, big = (f"io.{prim.name}{order}({value}, {name})" for order in ("le", "be"))
                    return self.aligned([Block("if self._endian():", (little,)), Block("else:", (big,))])
                order = prim.endian if prim.width > 1 else ""
                return self.aligned([f"io.{prim.name}{order}({value}, {name})"])
            case Bits(width, endian):
                return [f"io.bits_{endian}({value}, {width}, {name})"]
            case Bytes():
                return self.stored(struct, kind, spec, here, value)
            case Str(encoding):
                form = ENCODINGS[encoding]
                text = f'io.text({value}, "{form.python}", "{form.errors}", {name})'
                return self.stored(struct, kind, spec, here, text)
            case Ref():
                return self.object(struct, kind, spec, here, value, index)
            case Switch():
                return self.switch(struct, kind, spec, here, value, index)
        raise TypeError(kind)

    def size(self, struct: Struct, spec: Field, here: Here) -> str:
        """The size of a field, where it is known while it is written."""
        if spec.size is None:
            return "None"
        if looks_at_stream(spec.size, struct) and not (
            here.io == "io" and only_where_it_stands(spec.size, struct)
        ):
            return "None"
        return self.emitter.value(spec.size, here)

    def stored(self, struct: Struct, kind: TypeRef, spec: Field, here: Here, value: str) -> list[Code]:
        """Write bytes, with what fills them up, and after their process."""
        return self.aligned(self._stored(struct, kind, spec, here, value))

    def _stored(self, struct: Struct, kind: TypeRef, spec: Field, here: Here, value: str) -> list[Code]:
        name = f'"{spec.id}"'
        end = self.terminator(kind, spec)
        if spec.contents is not None:
            wrong = f'io.refuse({name}, "wrong fixed bytes", {spec.contents!r}, {value})'
            return [
                Block(f"if {value} != {spec.contents!r}:", (wrong,)),
                f"io.raw({value}, None, {name})",
            ]
        if spec.process is not None:
            process, args = self.process(spec, here)
            if any(looks_at_stream(arg, struct) for arg in spec.process.args):
                return [f'io.refuse({name}, "its process depends on where the stream stands", None, b"")']
            value = f'io.processed("{process}", {value}, {name}{args})'
        if spec.size is not None or spec.size_eos:
            size = self.size(struct, spec, here)
            if spec.pad_right is not None or end is not None:
                if spec.size is not None and size == "None":
                    # what fills it up depends on it, so that it must be known
                    size = self.emitter.value(spec.size, here)
                filled = f"{value}, {size}, {spec.pad_right}, {end!r}, {spec.include}, {name}"
                return [f"io.raw(io.filled({filled}), None, {name})"]
            return [f"io.raw({value}, {size}, {name})"]
        assert end is not None
        how = f"include={spec.include}, consume={spec.consume}, need={spec.eos_error}"
        return [f"io.ended({value}, {end!r}, {name}, {how})"]

    def object(
        self, struct: Struct, kind: Ref, spec: Field, here: Here, value: str, index: str
    ) -> list[Code]:
        name = f'"{spec.id}"'
        parent, root = self.parent(struct, kind, here)
        plain = spec.pad_right is None and spec.terminator is None and spec.process is None
        sized = not plain or spec.size is not None or spec.size_eos
        params = self.model.struct(kind.target).params
        told = {
            attribute(param.id): (self.emitter.argument(arg, here), sized and looks_at_stream(arg, struct))
            for param, arg in zip(params, kind.args, strict=True)
        }
        values = ", ".join(f'"{param}": {text}' for param, (text, late) in told.items() if not late)
        # the reader asks where the stream stands when the bytes of the object are behind it
        after: list[Code] = [
            f'io.told({value}, "{param}", {text}, {name})' for param, (text, late) in told.items() if late
        ]
        given = f", params={{{values}}}" if values else ""
        call = f"write({value}, {self.module.class_of(kind.target)}, {parent}, {name}{index}{root}{given})"
        if not sized:
            return [f"io.{call}"]
        size = self.size(struct, spec, here)
        if plain:
            lines: list[Code] = [
                f"part = io.part({size}, {value}, {name})",
                f"part.{call}",
                f"io.put(part, {size}, {value}, {name})",
                *after,
            ]
            return self.aligned(lines)
        whole = f"io.whole(part, None, {value}, {name})"
        return [
            f"part = io.part(None, {value}, {name})",
            f"part.{call}",
            *self.stored(struct, Bytes(), spec, here, whole),
            *after,
        ]

    def switch(
        self, struct: Struct, switch: Switch, spec: Field, here: Here, value: str, index: str
    ) -> list[Code]:
        lines: list[Code] = [f"on = {self.emitter.text(switch.on, here)}"]
        word = "if"
        for test, kind in self.branches(switch, here):
            lines.append(Block(f"{word} {test}:", tuple(self.value(struct, kind, spec, here, value, index))))
            word = "elif"
        if switch.default is not None:
            other = self.value(struct, switch.default, spec, here, value, index)
        elif (plain := without_case(spec)) is not None:
            other = self.stored(struct, Bytes(), plain, here, value)
        else:
            wrong = (
                f'io.refuse("{spec.id}", "no case for this value, so that nothing is written", on, {value})'
            )
            return [*lines, Block(f"elif {value} is not None:", (wrong,))]
        if word == "if":
            return [*lines, *other]
        return [*lines, Block("else:", tuple(other))]

    def instance(self, struct: Struct, instance: Instance) -> list[Code]:
        """Write an instance that was read or given at its position."""
        spec = instance.reads
        assert spec is not None and instance.position is not None
        before = Here(Scope(struct), io="self._stream", stream="_stream")
        owner = "self._sink(self._out)"
        other = other_stream(instance)
        if other is not None:
            owner = f"self._sink({self.emitter.value(other, before)})"
        pos = self.emitter.value(instance.position, before)
        if other is None and looks_at_stream(instance.position, struct):
            pos = f'self._place("{instance.id}")'
        value = f"self.{attribute(instance.id)}"
        here = Here(Scope(struct), io="io" if other is None else "self._stream", stream="_stream")
        return [
            f'io = {owner}.seek({pos}, "{instance.id}")',
            *self.field(struct, spec, here, value),
            f'io.place("{instance.id}")',
        ]

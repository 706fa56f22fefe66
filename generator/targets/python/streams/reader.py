"""How the fields and instances of a streamed type are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kodec.generator.schema import expr as ex
from kodec.generator.schema.kinds import Kind, Kinds, Scope, types_in, without_case
from kodec.generator.schema.model import (
    Bits,
    Bytes,
    Field,
    Instance,
    Prim,
    Ref,
    Str,
    Struct,
    Switch,
    TypeRef,
)
from kodec.generator.schema.widths import least_bytes
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.expressions import COMPARED, Operand
from kodec.generator.targets.python.names import attribute
from kodec.generator.targets.python.streams.expressions import Emitter, Here
from kodec.generator.targets.python.streams.runs import (
    Run,
    Slot,
    asks_for,
    ending,
    loose,
    other_stream,
    runs_of,
    timely,
    width_of,
)
from kodec.generator.targets.python.streams.views import Block, Code
from kodec.generator.wire import ENCODINGS, WIRE

__all__ = ["Plans", "Reader"]


class Plans:
    """What reading and writing have in common: expressions, types, and the rules of values."""

    def __init__(self, module: Context, kinds: Kinds, fields: dict[tuple[str, tuple[str, ...]], int]) -> None:
        self.module = module
        self.model = module.model
        self.kinds = kinds
        self.emitter = Emitter(module, kinds)
        self.fields = fields
        self.loose = loose(module.model)
        self.timely = timely(module.model)
        self.ending = ending(module.model)

    def run_name(self, run: Run) -> str:
        """The constant with the format and the names of a run; the one by the byte order at hand."""
        if run.order == "by":
            little, big = (self.run_name(Run(run.slots, order)) for order in ("le", "be"))
            return f"{little} if self._endian() else {big}"
        key = (
            ("<" if run.order == "le" else ">") + "".join(slot.code for slot in run.slots),
            tuple(slot.name for slot in run.slots),
        )
        return f"_FIELDS_{self.fields.setdefault(key, len(self.fields) + 1)}"

    def aligned(self, lines: list[Code]) -> list[Code]:
        """Lines that begin with a whole byte, where types may end within one."""
        return ["io.align()", *lines] if self.loose else lines

    def rules(self, spec: Field, value: str, here: Here, back: int | None = None) -> list[Code]:
        """The `valid` rules of a value: each that does not hold ends in `refuse`.

        `back` is how many bytes ago it began, where that is known.
        """
        valid = spec.valid
        if valid is None:
            return []
        ago = f", {back}" if back else ""
        kind = self.kinds.element(spec)
        inner = here.with_item(kind, value, here.names.get("_index", "0"))
        found: list[tuple[str, str]] = []

        def emit(expr: ex.Expr) -> Operand:
            return self.emitter.compared(expr, inner)

        floating = kind.name == "float"
        if valid.eq is not None:
            wanted = emit(valid.eq)
            found.append((f"{value} != {wanted.beside}", wanted.alone))
        if valid.min is not None:
            low = emit(valid.min)
            bad = f"not {value} >= {low.beside}" if floating else f"{value} < {low.beside}"
            found.append((bad, low.alone))
        if valid.max is not None:
            high = emit(valid.max)
            bad = f"not {value} <= {high.beside}" if floating else f"{value} > {high.beside}"
            found.append((bad, high.alone))
        if valid.any_of is not None:
            choices = ", ".join(emit(choice).alone for choice in valid.any_of)
            found.append((f"{value} not in ({choices},)", f"({choices},)"))
        if valid.expr is not None:
            holds = self.emitter.value(valid.expr, inner, COMPARED)
            found.append((f"not {holds}", repr(ex.text_of(valid.expr))))
        if valid.in_enum and spec.enum is not None:
            enum = self.enum(spec.enum)
            found.append((f"not isinstance({value}, {enum})", f'"a value of {enum}"'))
        return [
            Block(f"if {bad}:", (f'io.refuse("{spec.id}", "value not allowed", {need}, {value}{ago})',))
            for bad, need in found
        ]

    def enum(self, name: str) -> str:
        return self.module.imported(name, self.module.back.enum_class(name))

    def guarded(self, condition: ex.Expr | None, here: Here, body: list[Code]) -> list[Code]:
        if condition is None:
            return body
        return [Block(f"if {self.emitter.value(condition, here)}:", tuple(body))]

    def parent(self, struct: Struct, kind: Ref, here: Here) -> tuple[str, str]:
        """What an object of a type has as `_parent`, and what further argument says its root."""
        if not self.kinds.near(struct, kind):
            return "None", ""
        if kind.parent is None:
            return "self", ""
        if kind.parent is False:
            return "None", ", root=self._root"
        assert isinstance(kind.parent, ex.Expr)
        return self.emitter.text(kind.parent, here), ", root=self._root"

    def terminator(self, kind: TypeRef, spec: Field) -> bytes | None:
        if spec.terminator is None and isinstance(kind, Str) and kind.zero:
            return bytes(ENCODINGS[kind.encoding].unit)
        return spec.terminator

    def process(self, spec: Field, here: Here) -> tuple[str, str]:
        """The name of a field's process, and its arguments as the end of a call."""
        assert spec.process is not None
        args = "".join(f", {self.emitter.value(arg, here)}" for arg in spec.process.args)
        return spec.process.name, args

    def branches(self, switch: Switch, here: Here) -> Iterator[tuple[str, TypeRef]]:
        """The test of each case, with those of one type joined, and its type."""
        joined: dict[TypeRef, list[ex.Expr]] = {}
        for case, kind in switch.cases:
            joined.setdefault(kind, []).append(case)
        for kind, cases in joined.items():
            values = [self.emitter.compared(case, here) for case in cases]
            any_of = ", ".join(value.alone for value in values)
            yield (f"on == {values[0].beside}" if len(values) == 1 else f"on in ({any_of})"), kind

    def py_type(self, kind: TypeRef, spec: Field) -> str:
        if spec.enum is not None:
            return f"{self.enum(spec.enum)} | int"
        match kind:
            case Prim(name):
                return WIRE[name].python.type
            case Bits(1):
                return "bool"
            case Bits():
                return "int"
            case Bytes():
                return "bytes"
            case Str():
                return "str"
            case Ref(target):
                return self.module.class_of(target)
        names = {self.py_type(each, spec) for each in types_in(kind)}
        if isinstance(kind, Switch) and kind.default is None:
            names.add("None" if without_case(spec) is None else "bytes")
        return " | ".join(sorted(names, key=lambda name: (name == "None", name)))

    def annotation(self, spec: Field) -> str:
        text = self.py_type(spec.type, spec)
        if spec.repeat is not None:
            return f"list[{text}]"
        return text

    def kind_type(self, kind: Kind) -> str:
        """The Python type of values of a kind."""
        if kind.name == "enum":
            text = f"{self.enum(kind.full)} | int"
        elif kind.name == "type":
            text = self.module.class_of(kind.full) if kind.full else "Any"
        elif kind.name == "list":
            text = f"list[{self.kind_type(kind.of)}]" if kind.of is not None else "list[Any]"
        else:
            text = {
                "integer": "int",
                "float": "float",
                "boolean": "bool",
                "text": "str",
                "bytes": "bytes",
            }.get(kind.name, "Any")
        return f"{text} | None" if kind.maybe and text != "Any" else text

    def endian(self, struct: Struct, here: Here) -> list[Code]:
        assert struct.endian is not None
        lines: list[Code] = [f"on = {self.emitter.value(struct.endian.on, here)}"]
        word = "if"
        last = "self._is_le = None"
        for case, order in struct.endian.cases:
            if case is None:
                last = f"self._is_le = {order == 'le'}"
                continue
            test = self.emitter.value(case, here, COMPARED)
            lines.append(Block(f"{word} on == {test}:", (f"self._is_le = {order == 'le'}",)))
            word = "elif"
        lines.append(Block("else:", (last,)) if word == "elif" else last)
        return lines


class Reader(Plans):
    """The lines that read."""

    def eachable(self, root: Struct) -> dict[str, list[Field]]:
        """By the name of a type: its lists that can be read without being kept, as no expression asks for
        them, and its objects that hold such. It is the outermost type, or held outside of lists and switches.
        """
        reached = {root.name}
        for struct in (todo := [root]):
            for spec in struct.fields:
                if (inner := self._held(struct, spec)) is not None and inner.name not in reached:
                    reached.add(inner.name)
                    todo.append(inner)
        lists = {struct.name for struct in todo if any(map(self._lone_list, struct.fields))}
        # a type that holds one that has any; types may hold each other
        before = -1
        while before < len(lists):
            before = len(lists)
            for struct in reversed(todo):
                if any(self._leads_to(struct, spec, lists) for spec in struct.fields):
                    lists.add(struct.name)
        return {
            struct.name: [
                spec for spec in struct.fields if self._lone_list(spec) or self._leads_to(struct, spec, lists)
            ]
            for struct in todo
        }

    def _lone_list(self, spec: Field) -> bool:
        """Whether a field is a list of objects that no expression asks for."""
        objects = spec.repeat is not None and isinstance(spec.type, (Ref, Switch))
        return objects and not self.kinds.asked(spec.id)

    def _leads_to(self, struct: Struct, spec: Field, lists: set[str]) -> bool:
        inner = self._held(struct, spec)
        return inner is not None and inner.name in lists

    def _held(self, struct: Struct, spec: Field) -> Struct | None:
        """The type of the same schema of which a field always holds one object, where it holds any."""
        if spec.repeat is not None or not isinstance(spec.type, Ref):
            return None
        return self.model.struct(spec.type.target) if self.kinds.near(struct, spec.type) else None

    def read(self, struct: Struct, each: Sequence[Field] = ()) -> list[Code]:
        """All of a type; of `each`, the elements of the one that is called `name` are given one by one."""
        here = Here(Scope(struct), io="io")
        lines: list[Code] = []
        if struct.endian is not None:
            lines += self.endian(struct, here)
        bits: str | None = None
        for step in runs_of(struct, self.timely, writing=False, loose=self.loose):
            order = None
            if isinstance(step, Field) and isinstance(step.type, Bits):
                order = step.type.endian
            if bits is not None and order != bits and (order is not None or not self.loose):
                lines.append("io.align()")
            bits = order
            if isinstance(step, Run):
                lines += self.aligned(self.run(step, here))
            else:
                target = f"self.{attribute(step.id)}"
                body = self.field(struct, step, here, target)
                if step in each:
                    given = self.field(struct, step, replace(here, each=True), target)
                    chosen = Block(f'if name == "{attribute(step.id)}":', tuple(given))
                    body = given if len(each) == 1 else [chosen, Block("else:", tuple(body))]
                lines += self.guarded(step.condition, here, body)
        return lines

    def run(self, run: Run, here: Here) -> list[Code]:
        """Read the slots of a run at once; then what follows from each."""
        targets: list[str] = []
        after: list[Code] = []
        for slot in run.slots:
            back = run.after(slot)
            if isinstance(slot.fields[0].type, Bits):
                name = "bits" if "bits" not in targets else f"bits_{len(targets)}"
                targets.append(name)
                for spec, shift, width in slot.shifts():
                    target = f"self.{attribute(spec.id)}"
                    after.append(
                        f"{target} = {self.enumerated(spec, _taken(spec, name, slot, shift, width))}"
                    )
                    after += self.rules(spec, target, here, back)
                continue
            (spec,) = slot.fields
            target = f"self.{attribute(spec.id)}"
            targets.append(target)
            if spec.enum is not None:
                after.append(f"{target} = member_of({self.enum(spec.enum)}, {target})")
            after += self.rules(spec, target, here, back)
        comma = "," if len(targets) == 1 else ""
        return [f"{', '.join(targets)}{comma} = io.unpack({self.run_name(run)})", *after]

    def field(self, struct: Struct, spec: Field, here: Here, target: str) -> list[Code]:
        """Read all values of a field into `target`, or give them instead."""
        if spec.repeat is None:
            read = self.value(struct, spec.type, spec, here, target, "")
            return [*read, *self.rules(spec, target, here, width_of(spec))]
        name = f'"{spec.id}", held=False' if here.each else f'"{spec.id}"'
        loop = {"eos": f"io.each({name})", "until": f"io.again({name})"}.get(spec.repeat)
        if spec.repeat_expr is not None:
            least = 0 if spec.process is not None else least_bytes(self.model, spec.type, spec)
            if isinstance(spec.type, Switch):
                least = 0
            loop = f"io.count({self.emitter.value(spec.repeat_expr, here)}, {least}, {name})"
        inner = here.with_item(self.kinds.element(spec), "item", "i")
        body = self.value(struct, spec.type, spec, inner, "item", ", i")
        body += [
            *self.rules(spec, "item", inner, width_of(spec)),
            "yield item" if here.each else f"{target}.append(item)",
        ]
        if spec.repeat_until is not None:
            body.append(Block(f"if {self.emitter.value(spec.repeat_until, inner)}:", ("break",)))
        made = f"{target}: {self.annotation(spec)} = []" if target == "found" else f"{target} = []"
        return [made, Block(f"for i in {loop}:", tuple(body))]

    def value(
        self, struct: Struct, kind: TypeRef, spec: Field, here: Here, target: str, index: str
    ) -> list[Code]:
        """Read one value into `target`; `index` is the rest of the call that names an element of a list."""
        name = f'"{spec.id}"'
        match kind:
            case Prim():
                return self.aligned([f"{target} = {self.enumerated(spec, self.number(kind, name))}"])
            case Bits(width, endian):
                text = f"io.bits_{endian}({width}, {name})"
                if width == 1 and spec.enum is None:
                    text += " != 0"
                return [f"{target} = {self.enumerated(spec, text)}"]
            case Bytes() | Str() | Ref() if self.early(spec):
                assert spec.size is not None
                size = f"size = {self.emitter.value(spec.size, here)}"
                known = replace(spec, size=ex.Name("_size"))
                inner = here.with_name("_size", Kind("integer"), "size")
                return [size, *self.value(struct, kind, known, inner, target, index)]
            case Bytes():
                return self.aligned([f"{target} = {self.stored(kind, spec, here)}"])
            case Str(encoding):
                form = ENCODINGS[encoding]
                raw = self.stored(kind, spec, here)
                return self.aligned([f'{target} = io.text({raw}, "{form.python}", "{form.errors}", {name})'])
            case Ref(target_type, args):
                given = ", ".join(self.emitter.argument(arg, here) for arg in args)
                parent, root = self.parent(struct, kind, here)
                made = f"{self.module.class_of(target_type)}({given})"
                stream = self.stream(kind, spec, here)
                lines: list[Code] = [f"{target} = {stream}.read({made}, {parent}, {name}{index}{root})"]
                if here.each and spec.repeat is None:
                    walk = f"yield from {stream}.each_in(node, {parent}, {name}, path{root})"
                    lines = [f"node = {made}", walk, f"{target} = node"]
                return lines if stream == "io" else self.aligned(lines)
            case Switch():
                return self.switch(struct, kind, spec, here, target, index)
        raise TypeError(kind)

    def early(self, spec: Field) -> bool:
        """Whether a size asks if the stream has ended, where bits of the byte before may be left."""
        return self.loose and spec.size is not None and asks_for(spec.size, self.ending)

    def switch(
        self, struct: Struct, switch: Switch, spec: Field, here: Here, target: str, index: str
    ) -> list[Code]:
        lines: list[Code] = [f"on = {self.emitter.text(switch.on, here)}"]
        kinds = [kind for _, kind in switch.cases] + [switch.default or Bytes()]
        # what the cases are is asked before their bytes are read
        fixed = not any(asks_for(case, self.timely) for case, _ in switch.cases)
        if fixed and spec.size is not None and _is_part(spec) and all(map(_of_part, kinds)):
            # all that it can be has the same size
            lines += self.aligned([f"part = {self.stream(kinds[0], spec, here)}"])
            spec, here = replace(spec, size=None, size_eos=True), replace(here, part="part")
        word = "if"
        for test, kind in self.branches(switch, here):
            body = self.value(struct, kind, spec, here, target, index)
            lines.append(Block(f"{word} {test}:", tuple(body)))
            word = "elif"
        other: list[Code] = []
        if switch.default is not None:
            other = self.value(struct, switch.default, spec, here, target, index)
        elif (plain := without_case(spec)) is not None:
            other = self.aligned([f"{target} = {self.stored(Bytes(), plain, here)}"])
        elif target == "item" or target == "found":
            other = [f"{target} = None"]
        if word == "if":
            return [*lines, *other]
        return [*lines, Block("else:", tuple(other))] if other else lines

    def enumerated(self, spec: Field, text: str) -> str:
        return text if spec.enum is None else f"member_of({self.enum(spec.enum)}, {text})"

    @staticmethod
    def number(prim: Prim, name: str) -> str:
        if prim.width == 1:
            return f"io.{prim.name}({name})"
        if prim.endian == "by":
            return f"io.{prim.name}le({name}) if self._endian() else io.{prim.name}be({name})"
        return f"io.{prim.name}{prim.endian}({name})"

    def stored(self, kind: TypeRef, spec: Field, here: Here) -> str:
        """The bytes of a field, without what fills them up, and after its process."""
        name = f'"{spec.id}"'
        end = self.terminator(kind, spec)
        if spec.contents is not None:
            return f"io.fixed({spec.contents!r}, {name})"
        if spec.size is not None or spec.size_eos:
            text = f"{here.part or 'io'}.rest()"
            if spec.size is not None:
                text = f"io.raw({self.emitter.value(spec.size, here)}, {name})"
            if spec.pad_right is not None or end is not None:
                text = f"trimmed({text}, {spec.pad_right}, {end!r}, {spec.include})"
        else:
            assert end is not None
            given = [
                ("include", spec.include, False),
                ("consume", spec.consume, True),
                ("need", spec.eos_error, True),
            ]
            extra = "".join(f", {key}={value}" for key, value, usual in given if value is not usual)
            text = f"io.until({end!r}, {name}{extra})"
        if spec.process is not None:
            process, args = self.process(spec, here)
            text = f'io.processed("{process}", {text}, {name}{args})'
        return text

    def stream(self, kind: TypeRef, spec: Field, here: Here) -> str:
        """The stream that an object is read from."""
        plain = _is_part(spec)
        if here.part:
            return here.part
        if plain and spec.size is not None:
            return f'io.part({self.emitter.value(spec.size, here)}, "{spec.id}")'
        if plain and spec.size_eos:
            return "io.remaining()"
        if plain:
            return "io"
        return f"io.inside({self.stored(kind, spec, here)})"

    def instance(self, struct: Struct, instance: Instance) -> list[Code]:
        """The lines that read a parse instance and give it."""
        spec = instance.reads
        assert spec is not None
        unread = instance.id in self.kinds.asked_from_inside(struct.name.partition("::")[0])
        before = Here(Scope(struct), io="self._stream", stream="_io", unread=unread)
        lines: list[Code] = []
        condition = instance.condition
        if condition is not None:
            holds = self.emitter.value(condition, before, COMPARED)
            lines.append(Block(f"if not {holds}:", ("return None",)))
        other = other_stream(instance)
        stream = None if other is None else self.emitter.value(other, before)
        if instance.position is not None:
            pos = self.emitter.value(instance.position, before)
            lines.append(f'io = self._seek({stream or "self._io"}, {pos}, "{instance.id}")')
        else:
            lines.append(f'io = self._reading({stream or "self._io"}, "{instance.id}")')
        here = Here(Scope(struct), io="io" if stream is None else "self._stream", stream="_io", unread=unread)
        return [*lines, *self.field(struct, spec, here, "found"), "return found"]


def _taken(spec: Field, name: str, slot: Slot, shift: int, width: int) -> str:
    """A field of the bits `name`."""
    total = slot.size * 8
    if width == 1 and spec.enum is None:
        return f"{name} & {1 << shift:#x} != 0"
    moved = f"{name} >> {shift}" if shift else name
    return moved if shift + width == total else f"{moved} & {(1 << width) - 1:#x}"


def _is_part(spec: Field) -> bool:
    """Whether the stored bytes of a field are just those of its value."""
    return spec.pad_right is None and spec.terminator is None and spec.process is None


def _of_part(kind: TypeRef) -> bool:
    return isinstance(kind, (Ref, Bytes))

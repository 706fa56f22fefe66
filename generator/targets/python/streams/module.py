"""One streamed schema to the view of its module."""

from __future__ import annotations

from collections.abc import Iterator

from kodec.generator.plan.steps import FieldPlan, InstancePlan, Parameter, Program
from kodec.generator.plan.values import FLAG, OCTETS, TEXT, EnumOf, Real, Whole
from kodec.generator.schema.model import Bits, Enum, Field, Instance, Param, Prim, Schema, Struct
from kodec.generator.schema.widths import field_bits, least_of
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import argument, attribute, camel
from kodec.generator.targets.python.streams.printer import Printer
from kodec.generator.targets.python.streams.tables import native_unit
from kodec.generator.targets.python.streams.views import ClassView, Property, StreamModule
from kodec.generator.targets.python.views.modules import PLACES, Attribute, Constant, EnumClass, EnumMember
from kodec.generator.text import Text, docstring
from kodec.generator.wire import WIRE

__all__ = ["stream_module"]


def stream_module(back: ModelIndex, program: Program, schema: Schema) -> StreamModule:
    """The view of the module of a streamed schema."""
    return _Module(back, program, schema).build()


class _Module:
    def __init__(self, back: ModelIndex, program: Program, schema: Schema) -> None:
        self.context = Context(back, schema)
        self.back = back
        self.units = program.units
        self.schema = schema

    def build(self) -> StreamModule:
        classes = tuple(self._class(struct) for struct in self.schema.structs)
        enums = tuple(self._enum(enum) for enum in self.schema.enums)
        head = self.schema.title or Text(camel(self.schema.id))
        doc = self.schema.root.doc
        return StreamModule(
            schema=self.schema,
            context=self.context,
            doc=docstring(Text.of(head, ".\n\n", doc) if doc else Text.of(head, "."), ""),
            enums=enums,
            classes=classes,
            exports=tuple(sorted([each.name for each in classes] + [each.name for each in enums])),
            late=self._in_circle(),
        )

    def _in_circle(self) -> bool:
        """Whether the schema imports itself through others."""
        todo, seen = list(self.schema.imports), set[str]()
        while todo:
            each = todo.pop()
            if each not in seen:
                seen.add(each)
                todo += self.context.model.schema(each).imports
        return self.schema.id in seen

    def _enum(self, enum: Enum) -> EnumClass:
        names = self.context.enum_names(enum.name)
        members = [EnumMember(names[item.id], item.value, docstring(item.doc, "    ")) for item in enum.items]
        return EnumClass(self.back.enum_class(enum.name), enum.name.replace("::", "."), tuple(members))

    def _class(self, struct: Struct) -> ClassView:
        doc = struct.doc or Text(f"`{struct.id}` of {self.schema.path}.")
        for index, source in enumerate(struct.doc_ref):
            doc = Text.of(doc, "; " if index else "\n\nSource: ", source)
        unit = self.units[struct.name]
        assert unit.streamed is not None
        printer = Printer(self.context, unit, self.units)
        instances = zip(struct.instances, unit.streamed.instances, strict=True)
        return ClassView(
            name=self.back.classes[struct.name],
            doc=docstring(doc, "    "),
            printer=printer,
            told=tuple((argument(each.name), printer.computed(each.type)) for each in unit.parameters),
            params=tuple(
                _param(printer, param, plan)
                for param, plan in zip(struct.params, unit.parameters, strict=True)
            ),
            attrs=tuple(
                _attribute(printer, spec, plan) for spec, plan in zip(struct.fields, unit.fields, strict=True)
            ),
            properties=tuple(_property(printer, instance, plan) for instance, plan in instances),
            native=native_unit(printer, self.back.classes[struct.name]),
            constants=tuple(self._constants(struct)),
        )

    def _constants(self, struct: Struct) -> Iterator[Constant]:
        """Sizes, and the places of fields where they do not vary."""
        model = self.context.model
        numbers = [spec.type for spec in struct.fields if isinstance(spec.type, Prim)]
        usual = next((each.endian for each in numbers if each.width > 1 and each.endian != "by"), "be")
        at: int | None = 0
        least = 0
        places: dict[str, tuple[int, str]] = {}
        for spec in struct.fields:
            bits = field_bits(model, spec)
            if not isinstance(spec.type, Bits):
                at, least = (None if at is None else (at + 7) // 8 * 8), (least + 7) // 8 * 8
                number = isinstance(spec.type, Prim) and spec.repeat is None and spec.condition is None
                code = _code(spec.type, usual) if number and isinstance(spec.type, Prim) else ""
                if at is not None or code:
                    places[attribute(spec.id)] = -1 if at is None else at // 8, code
            at = None if at is None or bits is None else at + bits
            if bits is not None:
                least += bits
            else:
                least += 8 * least_of(model, spec)
        if at is not None and at % 8 == 0:
            yield Constant("SIZE", "int", str(at // 8), "Bytes that one takes.")
        else:
            text = "The fewest bytes that one can take."
            yield Constant("MIN_SIZE", "int", str((least + 7) // 8), text)
        if places:
            items = ", ".join(f'"{name}": ({start}, "{code}")' for name, (start, code) in places.items())
            yield Constant("PLACES", "dict[str, tuple[int, str]]", f"{{{items}}}", PLACES)


def _code(kind: Prim, usual: str) -> str:
    """The format of a number in `struct`, of one byte in the `usual` order; empty if bytes determine it."""
    order = {"be": ">", "le": "<"}.get(kind.endian if kind.width > 1 else usual)
    return "" if order is None else order + WIRE[kind.name].python.code


def _param(printer: Printer, param: Param, plan: Parameter) -> Attribute:
    kind = plan.type
    plain = isinstance(kind, (Whole, Real, EnumOf)) or kind in (FLAG, TEXT, OCTETS)
    # an object that receives another may be inside it
    hidden = "" if plain else "repr=False, "
    default = f" = field(default=REQUIRED, {hidden}compare=False)"
    return Attribute(attribute(param.id), printer.computed(kind), default, docstring(param.doc, "    "))


def _attribute(printer: Printer, spec: Field, plan: FieldPlan) -> Attribute:
    default = " = REQUIRED" if plan.default is None else f" = {plan.default.value!r}"
    if plan.default is not None and plan.default.value is not None:
        # the same bytes in every object
        default = f" = field(default={plan.default.value!r}, init=False, repr=False, compare=False)"
    elif spec.derive is not None and spec.derive.is_length:
        # it follows from the content, as in layouts
        default = " = field(default=REQUIRED, init=False, repr=False, compare=False)"
    elif spec.derive is not None and all(each.when is None for each in spec.derive.each):
        # computed whatever it is
        default = " = field(default=REQUIRED, compare=False)"
    return Attribute(attribute(spec.id), printer.annotation(plan.type), default, docstring(spec.doc, "    "))


def _property(printer: Printer, instance: Instance, plan: InstancePlan) -> Property:
    spec = instance.reads
    doc = docstring(instance.doc or (spec.doc if spec is not None else instance.doc), "        ")
    if plan.value is not None:
        return Property(attribute(instance.id), printer.computed(plan.type), doc, plan)
    return Property(attribute(instance.id), printer.annotation(plan.type), doc, plan)

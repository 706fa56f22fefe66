"""One streamed schema to the view of its module."""

from __future__ import annotations

from kodec.generator.plan.steps import FieldPlan, InstancePlan, Parameter, Program
from kodec.generator.plan.values import FLAG, OCTETS, TEXT, EnumOf, Real, Whole
from kodec.generator.schema.model import Enum, Field, Instance, Param, Schema, Struct
from kodec.generator.targets.python.context import Context
from kodec.generator.targets.python.index import ModelIndex
from kodec.generator.targets.python.names import attribute, camel
from kodec.generator.targets.python.streams.printer import Printer
from kodec.generator.targets.python.streams.tables import native_unit
from kodec.generator.targets.python.streams.views import ClassView, Property, StreamModule
from kodec.generator.targets.python.views.modules import Attribute, EnumClass, EnumMember
from kodec.generator.text import Text, docstring

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
            params=tuple(
                _param(printer, param, plan)
                for param, plan in zip(struct.params, unit.parameters, strict=True)
            ),
            attrs=tuple(
                _attribute(printer, spec, plan) for spec, plan in zip(struct.fields, unit.fields, strict=True)
            ),
            properties=tuple(_property(printer, instance, plan) for instance, plan in instances),
            native=native_unit(printer, self.back.classes[struct.name]),
        )


def _param(printer: Printer, param: Param, plan: Parameter) -> Attribute:
    kind = plan.type
    plain = isinstance(kind, (Whole, Real, EnumOf)) or kind in (FLAG, TEXT, OCTETS)
    # an object that receives another may be inside it
    default = "" if plain else " = field(repr=False, compare=False)"
    return Attribute(attribute(param.id), printer.computed(kind), default, docstring(param.doc, "    "))


def _attribute(printer: Printer, spec: Field, plan: FieldPlan) -> Attribute:
    default = " = REQUIRED" if plan.default is None else f" = {plan.default.value!r}"
    return Attribute(attribute(spec.id), printer.annotation(plan.type), default, docstring(spec.doc, "    "))


def _property(printer: Printer, instance: Instance, plan: InstancePlan) -> Property:
    spec = instance.reads
    doc = docstring(instance.doc or (spec.doc if spec is not None else instance.doc), "        ")
    if plan.value is not None:
        return Property(attribute(instance.id), printer.computed(plan.type), doc, plan)
    return Property(attribute(instance.id), printer.annotation(plan.type), doc, plan)

"""Instructions of a trace: one call of a primitive with its inputs, attributes and outputs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr
from tvm.support.registry import Registry
from tvm.tir.expr import FloatImm, IntImm, StringImm
from tvm.tir.index_map import IndexMap

from .random_variable import BlockRV, LoopRV, under_names

INSTRUCTION_KINDS: Final[Registry[InstructionKind]] = Registry(
    "instruction kind", "tvm.tir.schedule.schedule"
)
SIDES: Final = ("read", "write")  # by the numbers that traces have for them


class Param(Object):
    """A parameter of a primitive, and how a trace holds it.

    Written as `loop` (an input), `*factors` (the remaining inputs), `**loops` (the remaining
    inputs, printed without a name), `[consumers` (a list within the inputs, left out when empty),
    `=scope` (an attribute), `%ranges` (the same, an index map to a beginning and an end for each
    dimension, printed in pairs), `@buffer` (a pair such as ("read", 0); as attributes 0, 0),
    `^scope` (an input, printed without a name).
    """

    __slots__ = ("form", "name")

    def __init__(self, spec: str) -> None:
        self.name: Final = spec.lstrip("*[=%@^")
        self.form: Final = spec[: len(spec) - len(self.name)]


class InstructionKind(Object):
    """A primitive as traces know it."""

    __slots__ = ("has_decision", "many", "method", "name", "params", "pure")

    def __init__(
        self,
        name: str,
        method: str,
        params: Sequence[str],
        pure: bool,
        has_decision: bool,
        many: bool,
    ) -> None:
        self.name: Final = name
        self.method: Final = method
        self.params: Final = tuple([Param(spec) for spec in params])
        self.pure: Final = pure
        self.has_decision: Final = has_decision
        self.many: Final = many  # the method returns a list

    @property
    def is_pure(self) -> bool:
        """True if the program stays as it is: queries and samples."""
        return self.pure

    @staticmethod
    def get(name: str) -> InstructionKind:
        """The kind called `name`; a KeyError with near names for others."""
        return INSTRUCTION_KINDS.get(name)

    def pack(self, arguments: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Arguments by name as the inputs and attributes of an instruction."""
        inputs: list[Any] = []
        attrs: list[Any] = []
        for param in self.params:
            value = arguments[param.name]
            if param.form in ("=", "%"):
                attrs.append(value)
            elif param.form == "@":
                attrs.extend([value[1], SIDES.index(value[0])])
            elif param.form == "[":
                inputs.append(list(value))
            elif param.form in ("*", "**"):
                inputs.extend(value)
            else:
                inputs.append(value)
        return inputs, attrs

    def unpack(self, inputs: Sequence[Any], attrs: Sequence[Any]) -> dict[str, Any]:
        """The arguments by name of an instruction."""
        arguments: dict[str, Any] = {}
        given, options = list(inputs), list(attrs)
        for param in self.params:
            if param.form in ("=", "%"):
                arguments[param.name] = options.pop(0)
            elif param.form == "@":
                number, side = options.pop(0), options.pop(0)
                arguments[param.name] = (SIDES[int(side)], number)
            elif param.form in ("*", "**"):
                arguments[param.name], given = given, []
            else:
                arguments[param.name] = given.pop(0) if given else []
        return arguments

    def call(
        self, sch: Object, inputs: Sequence[Any], attrs: Sequence[Any], decision: Any
    ) -> list[Any]:
        """Run the primitive again on a schedule; returns its outputs."""
        arguments = self.unpack(inputs, attrs)
        positional: list[Any] = []
        for param in self.params:
            if param.form == "**":
                positional = list(arguments.pop(param.name))
        if self.has_decision:
            arguments["decision"] = decision
        result = getattr(sch, self.method)(*positional, **arguments)
        if result is None:
            return []
        return list(result) if isinstance(result, (list, tuple)) else [result]

    def text(self, arguments: Mapping[str, Any], decision: Any, show: Callable[[Any], str]) -> str:
        """The call as Python text."""
        parts: list[str] = []
        for param in self.params:
            value = arguments[param.name]
            if param.form == "**":
                parts[:0] = [show(v) for v in value]
            elif param.form == "^":
                parts.append(show(value))
            elif param.form == "%" and isinstance(value, IndexMap):
                parts.append(f"{param.name}={_ranges_text(value)}")
            elif param.form == "@":
                parts.append(f"{param.name}=({show(value[0])}, {show(value[1])})")
            elif param.form != "[" or value:
                parts.append(f"{param.name}={show(value)}")
        if decision is not None:
            parts.append(f"decision={show(decision)}")
        return f"sch.{self.method}({', '.join(parts)})"


def kind(
    name: str,
    method: str,
    *params: str,
    pure: bool = False,
    decision: bool = False,
    many: bool = False,
) -> InstructionKind:
    """Declare the trace form of the primitive `Schedule.method`; see `Param` for the notation."""
    made = InstructionKind(name, method, params, pure, decision, many)
    return INSTRUCTION_KINDS.register(name, made, depth=2)


class Instruction(Object):
    """One call of a primitive."""

    __slots__ = ("attrs", "inputs", "kind", "outputs")

    def __init__(
        self,
        kind: InstructionKind,
        inputs: Sequence[Any],
        attrs: Sequence[Any],
        outputs: Sequence[Any],
    ) -> None:
        self.kind: Final = kind
        self.inputs: Final = list(inputs)
        self.attrs: Final = list(attrs)
        self.outputs: Final = list(outputs)

    def text(self, names: Mapping[Any, str], decision: Any = None) -> str:
        """The instruction as a line of Python, its variables called as `names` says."""
        call = self.kind.text(
            self.kind.unpack(self.inputs, self.attrs), decision, lambda v: show_value(v, names)
        )
        if not self.outputs:
            return call
        comma = "," if self.kind.many and len(self.outputs) == 1 else ""
        return f"{', '.join([names[out] for out in self.outputs])}{comma} = {call}"

    def __str__(self) -> str:
        return self.text(_Placeholders())

    __repr__ = __str__


class _Placeholders(dict[Any, str]):
    """Names for an instruction that is printed without its trace: a `_` each."""

    def __missing__(self, key: Any) -> str:
        return "_"

    def __contains__(self, key: Any) -> bool:
        return True

    def get(self, key: Any, default: Any = None) -> str:
        return "_"


def _ranges_text(ranges: IndexMap) -> str:
    """`lambda i: [(i, i + 1)]` for the bounds i, i + 1."""
    names = ", ".join([var.name for var in ranges.initial_indices])
    bounds = [str(index) for index in ranges.final_indices]
    pairs = ", ".join([f"({low}, {high})" for low, high in zip(bounds[::2], bounds[1::2])])
    return f"lambda {names}: [{pairs}]"


def show_value(value: Any, names: Mapping[Any, str], in_list: bool = False) -> str:
    """A Python expression for an input or attribute."""
    if isinstance(value, (BlockRV, LoopRV)):
        return names.get(value, "_")
    if isinstance(value, IntImm) and value.dtype.is_bool:
        return str(bool(value.value))
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return show_value(value.value, names, in_list)
    if isinstance(value, PrimExpr):
        return names[value] if value in names else str(under_names(value, names))
    if isinstance(value, IndexMap):
        return under_names(value, names).as_python()
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float) and math.isfinite(value):
        text = f"{value:.17g}"  # an attribute of its own has to come back as a float
        return text if in_list or not text.lstrip("-").isdigit() else f"{text}.0"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join([show_value(v, names, True) for v in value])}]"
    if isinstance(value, Mapping):
        parts = [f"{json.dumps(k)}: {show_value(v, names)}" for k, v in value.items()]
        return "{" + ", ".join(parts) + "}"
    python = getattr(value, "as_python", None)
    return str(python()) if callable(python) else repr(value)

"""The trace of a schedule: which primitives made it, so that it can be replayed, varied, stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tvm.error import CheckError, TVMError
from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr
from tvm.support.json_text import from_json
from tvm.tir.expr import FloatImm, IntImm, StringImm, Var
from tvm.tir.index_map import IndexMap

from .instruction import Instruction, InstructionKind
from .random_variable import BlockRV, LoopRV, samples_of, under_names, with_samples
from .trace_json import load_attribute, store_attribute

DecisionProvider = Callable[[Instruction, list[Any], list[Any], Any], Any]


class TraceFormError(CheckError, ValueError):
    """What is given as a stored trace is none, or fits no program of this structure."""


class Trace(Object):
    """Instructions in order, and what was decided for those that sample."""

    __slots__ = ("decisions", "insts")

    def __init__(
        self,
        insts: Iterable[Instruction] = (),
        decisions: Mapping[Instruction, Any] | None = None,
    ) -> None:
        self.insts: list[Instruction] = list(insts)
        self.decisions: dict[Instruction, Any] = dict(decisions or {})

    def get_decision(self, inst: Instruction) -> Any:
        """What was decided for `inst`, or None."""
        return self.decisions.get(inst)

    def append(self, inst: Instruction, decision: Any = None) -> None:
        """Add an instruction at the end."""
        self.insts.append(inst)
        if decision is not None:
            self.decisions[inst] = decision

    def pop(self) -> Instruction | None:
        """Take the last instruction off; None if there is none."""
        if not self.insts:
            return None
        inst = self.insts.pop()
        self.decisions.pop(inst, None)
        return inst

    def copy(self) -> Trace:
        """A trace that can be changed on its own."""
        return Trace(self.insts, self.decisions)

    # --- replay ---

    def apply_to_schedule(
        self,
        sch: Object,
        remove_postproc: bool,
        decision_provider: DecisionProvider | None = None,
    ) -> None:
        """Run all instructions on another schedule of the same program.

        `decision_provider(inst, inputs, attrs, decision)` may return another decision.
        """
        values: dict[Any, Any] = {}
        for inst in self._without_postproc(remove_postproc):
            inputs = [translate(v, values) for v in inst.inputs]
            attrs = [translate(v, values) for v in inst.attrs]
            decision = self.get_decision(inst)
            if decision_provider is not None and inst.kind.has_decision:
                decision = decision_provider(inst, inputs, attrs, decision)
            outputs = inst.kind.call(sch, inputs, attrs, decision)
            if len(outputs) != len(inst.outputs):
                raise CheckError(
                    f"{inst.kind.name}: the replay gave {len(outputs)} results, the trace has "
                    f"{len(inst.outputs)}; legal: a program of the same structure"
                )
            values.update(zip(inst.outputs, outputs))

    def _without_postproc(self, remove: bool) -> list[Instruction]:
        if not remove:
            return list(self.insts)
        kept: list[Instruction] = []
        for inst in self.insts:
            if inst.kind.name == "EnterPostproc":
                break
            kept.append(inst)
        return kept

    # --- variants ---

    def with_decision(self, inst: Instruction, decision: Any, remove_postproc: bool) -> Trace:
        """A copy in which something else was decided for `inst`; nothing, where it is None."""
        insts = self._without_postproc(remove_postproc)
        decisions = {i: self.decisions[i] for i in insts if i in self.decisions}
        decisions[inst] = decision
        if decision is None:
            del decisions[inst]
        return Trace(insts, decisions)

    def simplified(self, remove_postproc: bool) -> Trace:
        """A copy without the queries and samples whose results nobody uses."""
        used: set[Any] = set()
        kept: list[Instruction] = []
        for inst in reversed(self._without_postproc(remove_postproc)):
            if inst.kind.is_pure and not any(out in used for out in inst.outputs):
                continue
            kept.append(inst)
            for value in [*inst.inputs, *inst.attrs]:
                used.update(_variables(value))
        kept.reverse()
        return Trace(kept, {i: self.decisions[i] for i in kept if i in self.decisions})

    # --- text ---

    def _names(self, insts: Sequence[Instruction]) -> dict[Any, str]:
        names: dict[Any, str] = {}
        for inst in insts:
            for out in inst.outputs:
                names[out] = f"{_letter(out)}{len(names)}"
        return names

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """One line of Python an instruction; together they replay the trace on `sch`."""
        insts = self._without_postproc(remove_postproc)
        names = self._names(insts)
        return [inst.text(names, self.get_decision(inst)) for inst in insts]

    def as_json(self, remove_postproc: bool = False) -> Any:
        """Plain lists, numbers and strings: `[instructions, decisions]`."""
        insts = self._without_postproc(remove_postproc)
        names = self._names(insts)
        rows = [
            [
                inst.kind.name,
                [_store_input(v, names) for v in inst.inputs],
                [store_attribute(v) for v in inst.attrs],
                [names[out] for out in inst.outputs],
            ]
            for inst in insts
        ]
        decided = [
            [i, store_attribute(self.decisions[inst])]
            for i, inst in enumerate(insts)
            if inst in self.decisions
        ]
        return [rows, decided]

    @staticmethod
    def apply_json_to_schedule(json_obj: Any, sch: Object) -> None:
        """Replay what `as_json` stored."""
        rows, decided = _checked(json_obj)
        values: dict[str, Any] = {}
        for i, (name, inputs, attrs, outputs) in enumerate(rows):
            try:
                made = InstructionKind.get(name).call(
                    sch,
                    [_load_input(v, values) for v in inputs],
                    [load_attribute(v) for v in attrs],
                    load_attribute(decided[i]) if i in decided else None,
                )
            except TVMError:
                raise
            except _MISFITS as err:
                raise TraceFormError(
                    f"apply_json_to_schedule: instruction {i}, {name}, does not fit: "
                    f"{type(err).__name__}: {err}; legal: what `as_json` gives"
                ) from err
            if len(made) != len(outputs):
                raise TraceFormError(
                    f"{name}: the replay gave {len(made)} results, the stored trace has "
                    f"{len(outputs)}; legal: a program of the same structure"
                )
            values.update(zip(outputs, made))

    def __str__(self) -> str:
        body = [f"  {line}" for line in self.as_python()] or ["  pass"]
        return "\n".join(
            ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:", *body]
        )

    __repr__ = __str__

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the trace as Python, in colours where the terminal has them."""
        from tvm.script.highlight import cprint  # loads rich only when something is shown

        cprint(str(self), style=style, black_format=black_format)


# What an instruction of a damaged text may raise, beside what its primitive says of it.
_MISFITS: Final = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


def _checked(json_obj: Any) -> tuple[list[Any], dict[int, Any]]:
    """The rows of a stored trace, and its decisions; a TraceFormError for any other form."""
    if isinstance(json_obj, str):
        try:
            json_obj = from_json(json_obj)
        except ValueError as err:
            raise TraceFormError(
                f"apply_json_to_schedule: the text is no JSON: {err}; legal: what `as_json` gives"
            ) from None
    whole = isinstance(json_obj, (list, tuple)) and len(json_obj) == 2
    if not whole or not all(isinstance(part, (list, tuple)) for part in json_obj):
        raise TraceFormError(
            "apply_json_to_schedule: the text is no trace; legal: what `as_json` gives"
        )
    for row in json_obj[0]:
        whole = isinstance(row, (list, tuple)) and len(row) == 4 and isinstance(row[0], str)
        whole = whole and all(isinstance(part, (list, tuple)) for part in row[1:])
        if not whole or not all(isinstance(name, str) for name in row[3]):
            raise TraceFormError(
                f"apply_json_to_schedule: {row!r} is no instruction; "
                "legal: [kind, inputs, attributes, outputs]"
            )
    for pair in json_obj[1]:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or type(pair[0]) is not int:
            raise TraceFormError(
                f"apply_json_to_schedule: {pair!r} is no decision; "
                "legal: [number of the instruction, what was decided]"
            )
    return list(json_obj[0]), dict(json_obj[1])


def _letter(rv: Any) -> str:
    """What the names of a kind of variable start with."""
    if isinstance(rv, BlockRV):
        return "b"
    return "l" if isinstance(rv, LoopRV) else "v"


def _variables(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [v for part in value for v in _variables(part)]
    if isinstance(value, (BlockRV, LoopRV, Var)):
        return [value]
    return samples_of(value) if isinstance(value, (PrimExpr, IndexMap)) else []


def translate(value: Any, values: Mapping[Any, Any]) -> Any:
    """An input or attribute with the variables of one schedule replaced by those of another."""
    if isinstance(value, (list, tuple)):
        return [translate(part, values) for part in value]
    if isinstance(value, (BlockRV, LoopRV)):
        return values[value]
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value.value
    if isinstance(value, (PrimExpr, IndexMap)):
        return with_samples(value, {v: values[v] for v in samples_of(value) if v in values})
    return value


def _store_input(value: Any, names: Mapping[Any, str]) -> Any:
    """Variables by name, other strings in quotes."""
    if isinstance(value, (list, tuple)):
        return [_store_input(part, names) for part in value]
    if isinstance(value, Mapping):
        return {str(key): _store_input(part, names) for key, part in value.items()}
    if isinstance(value, (str, StringImm)):
        return f'"{value if isinstance(value, str) else value.value}"'
    if isinstance(value, (BlockRV, LoopRV)) or (isinstance(value, Var) and value in names):
        return names[value]
    if isinstance(value, (PrimExpr, IndexMap)):
        value = under_names(value, names)
    return store_attribute(value)


def _load_input(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_load_input(part, values) for part in value]
    if isinstance(value, Mapping) and set(value) != {"node"}:
        return {key: _load_input(part, values) for key, part in value.items()}
    if isinstance(value, str):
        if len(value) >= 2 and value[0] == value[-1] == '"':
            return value[1:-1]
        if value not in values:
            raise TraceFormError(f"apply_json_to_schedule: no earlier instruction gave {value!r}")
        return values[value]
    made = load_attribute(value)
    if isinstance(made, (PrimExpr, IndexMap)):
        return with_samples(made, {v: values[v.name] for v in samples_of(made) if v.name in values})
    return made

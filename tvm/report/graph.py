"""The program as it was given, the calls of kernels that it became, and which came from which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.span import SequentialSpan, Span
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    is_call_of,
)
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.tir.expr import IntImm

from . import words as w

_KERNELS: Final = ("relax.call_tir", "relax.call_tir_inplace")


def shape_text(info: object) -> str:
    """`float32[1, 64, 56, 56]`; several for a tuple."""
    if isinstance(info, TensorStructInfo):
        dims = getattr(info.shape, "values", None)
        return f"{info.dtype}[{'?' if dims is None else extents_text(dims)}]"
    if isinstance(info, TupleStructInfo):
        return "(" + ", ".join(map(shape_text, info.fields)) + ")"
    return "" if info is None else str(info).removeprefix("R.")


def extents_text(extents: Iterable[object]) -> str:
    """`1, n, 64`: numbers without their type."""
    return ", ".join(str(e.value) if isinstance(e, IntImm) else str(e) for e in extents)


def sources_of(mod: IRModule) -> tuple[list[w.Source], list[set[tuple[str, int]]]]:
    """The operators of `main`, and the source locations that each of them stands for."""
    func = main_of(mod)
    found: list[w.Source] = []
    locations: list[set[tuple[str, int]]] = []
    maker: dict[Var, list[int]] = {}
    for param in [] if func is None else func.params:
        maker[param] = [len(found)]
        locations.append(set())
        found.append(_source("input", param.name_hint, param, [], param.span))
    for binding in [] if func is None else _bindings(func):
        value, var = binding.value, binding.var
        used = list(dict.fromkeys(i for v in _variables(value) for i in maker.get(v, [])))
        if not isinstance(value, (Call, If)) or isinstance(binding, MatchCast):
            maker[var] = used  # another name for what was computed before
            continue
        span = value.span or binding.span
        maker[var] = [len(found)]
        locations.append(_locations(span))
        found.append(_source(_operator(value), var.name_hint, var, used, span))
    _tell_apart(found, locations)
    return found, locations


def _tell_apart(found: list[w.Source], locations: list[set[tuple[str, int]]]) -> None:
    """Nodes of a script are called by their lines: its name alone is that of all of them."""
    lines: dict[str, set[int]] = {}
    for where in locations:
        for name, line in where:
            lines.setdefault(name, set()).add(line)
    for source in found:
        if len(lines.get(source.name, ())) > 1:
            source.name = f"{source.value} (line {source.place.rpartition(':')[2]})"


def calls_of(
    mod: IRModule, name: str, sources: list[w.Source], locations: list[set[tuple[str, int]]]
) -> list[w.Call]:
    """The calls of kernels in a function, in order; each is noted in the sources that it came from.

    Those in branches and in functions that it calls stand before the call or the branch.
    """
    functions = {v.name_hint: f for v, f in mod.functions.items()}
    by_location: dict[tuple[str, int], list[int]] = {}
    for number, where in enumerate(locations):
        for location in where:
            by_location.setdefault(location, []).append(number)
    found: list[w.Call] = []
    maker: dict[Var, list[int]] = {}
    active = [name]

    def within(seq: SeqExpr) -> None:
        for block in seq.blocks:
            for binding in block.bindings:
                add(binding)

    def add(binding: Binding) -> None:
        value, var = binding.value, binding.var
        used = list(dict.fromkeys(i for v in _variables(value) for i in maker.get(v, [])))
        maker[var] = used
        before = len(found)
        if isinstance(value, If):
            for branch in (value.true_branch, value.false_branch):
                active.append("")
                within(branch)
                active.pop()
        elif isinstance(value, Call) and isinstance(value.op, GlobalVar):
            callee = functions.get(value.op.name_hint)
            if isinstance(callee, Function) and value.op.name_hint not in active:
                for param, arg in zip(callee.params, value.args):
                    maker[param] = [i for v in _variables(arg) for i in maker.get(v, [])]
                active.append(value.op.name_hint)
                within(callee.body)
                active.pop()
        called = kernel_of(value)
        if called is None or (len(active) > 1 and not is_call_of(value, *_KERNELS)):
            maker[var] += range(before, len(found))
            return
        origins = _locations(value.span or binding.span)
        numbers = sorted({n for location in origins for n in by_location.get(location, [])})
        for number in numbers:
            sources[number].calls.append(len(found))
        used = [*used, *range(before, len(found))]
        maker[var] = [len(found)]
        found.append(w.Call(called, var.name_hint, shape_text(var.struct_info_), numbers, used))

    func = functions[name]
    assert isinstance(func, Function), "the caller chose a graph"
    within(func.body)
    return found


def main_of(mod: IRModule) -> Function | None:
    """`main`, or the only function of the graph."""
    graphs = {v.name_hint: f for v, f in mod.functions.items() if isinstance(f, Function)}
    return graphs.get("main", next(iter(graphs.values()), None))


def calls_kernels(func: Function) -> bool:
    """Whether a graph calls kernels as graphs do: later forms write into memory that they get."""
    return any(is_call_of(binding.value, *_KERNELS) for binding in _bindings(func))


def kernel_of(value: RelaxExpr) -> str | None:
    """What a step of a lowered graph is called by: its kernel, function, or branch."""
    if isinstance(value, If):
        return "if"
    if not isinstance(value, Call):
        return None
    if isinstance(value.op, GlobalVar):
        return value.op.name_hint
    if is_call_of(value, *_KERNELS):
        callee: Any = value.args[0]
        return str(callee.name_hint)
    return None


def _bindings(func: Function) -> Iterator[Binding]:
    for block in func.body.blocks:
        yield from block.bindings


def _source(op: str, value: str, var: Var, inputs: list[int], span: Span | None) -> w.Source:
    located = _first(span)
    name = value if located is None else located.source_name.name
    where = "" if located is None else f"{located.source_name.name}:{located.line}"
    return w.Source(name, op, value, shape_text(var.struct_info_), where, inputs, [])


def _operator(value: RelaxExpr) -> str:
    if isinstance(value, If):
        return "if"
    assert isinstance(value, Call), "the caller looked"
    if kernel_of(value) is not None:
        return str(kernel_of(value))
    name = getattr(value.op, "name", None)
    return str(name).removeprefix("relax.") if name is not None else str(value.op)


def _locations(span: Span | None) -> set[tuple[str, int]]:
    if span is None:
        return set()
    parts = span.spans if isinstance(span, SequentialSpan) else (span,)
    return {(part.source_name.name, part.line) for part in parts}


def _first(span: Span | None) -> Span | None:
    return span.spans[0] if isinstance(span, SequentialSpan) else span


def _variables(value: RelaxExpr) -> Iterator[Var]:
    """The variables that a value reads; it is nested as deep as somebody wrote it."""
    stack: list[object] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            yield node
        elif isinstance(node, Call):
            stack += reversed(node.args)
        elif isinstance(node, Tuple):
            stack += reversed(node.fields)
        elif isinstance(node, TupleGetItem):
            stack.append(node.tuple_value)
        elif isinstance(node, If):
            stack += [node.false_branch, node.true_branch, node.cond]
        elif isinstance(node, (Function, Constant)):
            continue
        elif hasattr(node, "blocks"):
            stack.append(node.body)  # type: ignore[attr-defined]
            for block in node.blocks:
                stack += [binding.value for binding in block.bindings]

"""Kernels that differ in sizes alone become one, which is told the sizes.

    y = call_tir(conv1, (x,))     # 240 channels            y = call_tir(conv1, (x,), tir_vars=(1,))
    z = call_tir(conv2, (y,))     # 480 channels      ->    z = call_tir(conv1, (y,), tir_vars=(2,))

Networks repeat a layer with more channels. Where the planes are of any size the code counts in
registers anyway, and is long, as it chooses among several ways when it runs; so one kernel more is
told as well how many times 240 channels there are. What sizes are, and that tiles have none, says
`tir.analysis.kernel_form`. The first kernel keeps its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Final, NamedTuple

from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import Binding, Call, Function, is_call_of
from tvm.relax.expr_functor import PyExprVisitor
from tvm.relax.struct_info import ShapeExpr
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import map_bindings, with_value
from tvm.tir import expr as e
from tvm.tir.analysis.kernel_form import KernelForm, WithSizes, kernel_form
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.transform.nodes_used import FUNCTION, nodes_used

_LONG: Final = 3000  # tokens of a form; shorter kernels are compiled before they are compared
_MOST: Final = 5  # numbers that a kernel is told

Sizes = tuple[int, ...]  # one of each kernel of a form


class _Kernel(NamedTuple):
    """A kernel, and what is told apart in it."""

    var: GlobalVar
    func: PrimFunc
    form: KernelForm


class _Merged(NamedTuple):
    """Where the calls of a kernel go, and what they say there."""

    kernel: GlobalVar
    told: Sizes


@relax_module_pass("MergeForms")
def MergeForms(mod: IRModule, ctx: PassContext) -> IRModule:
    """Merge kernels of one form that only graphs call."""
    alike: dict[tuple[object, ...], list[_Kernel]] = {}
    for var, func in _kernels(mod).items():
        form = kernel_form(func)
        if form is not None and len(form.tokens) >= _LONG:
            alike.setdefault(form.tokens, []).append(_Kernel(var, func, form))
    merged: dict[str, _Merged] = {}
    changed: dict[GlobalVar, BaseFunc] = {}
    for group in [part for found in alike.values() for part in _alike(found)]:
        found = _merged(group) if len(group) > 1 else None
        if found is not None:
            first = group[0].var
            changed[first] = found[0]
            for kernel, told in zip(group, found[1]):
                merged[kernel.var.name_hint] = _Merged(first, told)
    if not merged:
        return mod

    def on_binding(binding: Binding) -> Sequence[Binding]:
        return [with_value(binding, _told(binding.value, merged))]

    functions: dict[GlobalVar, BaseFunc] = {}
    for gvar, one in mod.functions.items():
        if isinstance(one, Function):
            functions[gvar] = map_bindings(one, on_binding)
        elif gvar in changed or gvar.name_hint not in merged:
            functions[gvar] = changed.get(gvar, one)
    return mod.with_functions(functions)


def _kernels(mod: IRModule) -> dict[GlobalVar, PrimFunc]:
    """The functions for planes of any size that are called by `call_tir` alone."""
    found: dict[GlobalVar, PrimFunc] = {}
    calls = _Calls()
    for var, func in mod.functions_items():
        if isinstance(func, Function):
            calls.visit_expr(func)
        elif isinstance(func, PrimFunc):
            if FUNCTION in nodes_used(func.body):
                return {}  # which kernels call each other, a graph does not say
            if func.attrs.get("global_symbol") is None and _has_open_sizes(func):
                found[var] = func
    return {var: func for var, func in found.items() if var.name_hint not in calls.others}


def _has_open_sizes(func: PrimFunc) -> bool:
    shapes = [buffer.shape for buffer in func.buffer_map.values()]
    return any(not isinstance(extent, e.IntImm) for shape in shapes for extent in shape)


class _Calls(PyExprVisitor):
    """Finds the functions that are used otherwise than by `call_tir`."""

    def __init__(self) -> None:
        super().__init__()
        self.others: set[str] = set()

    def visit_call_(self, op: Call) -> None:
        if is_call_of(op, "relax.call_tir") and isinstance(op.args[0], GlobalVar):
            for arg in op.args[1:]:
                self.visit_expr(arg)
        else:
            super().visit_call_(op)

    def visit_global_var_(self, op: GlobalVar) -> None:
        self.others.add(op.name_hint)


def _alike(group: Sequence[_Kernel]) -> list[list[_Kernel]]:
    """Parts of a group in which no kernel's rows lie more than twice as far apart.

    With twice the distance the caches keep as many of them. Nor are its tasks shorter than a third
    of what it wants.
    """
    parts: list[list[int]] = []
    wanted = [kernel.form.rough() for kernel in group]
    for number in sorted(range(len(group)), key=wanted.__getitem__):
        for part in parts:
            distances, rounds = zip(*[wanted[one] for one in (*part, number)])
            if _within(2, distances) and _within(3, rounds):
                part.append(number)
                break
        else:
            parts.append([number])
    return [[group[number] for number in sorted(part)] for part in parts]


def _within(factor: int, rows: Sequence[Sequence[int]]) -> bool:
    return all(max(column) <= factor * min(column) for column in zip(*rows))


def _merged(group: Sequence[_Kernel]) -> tuple[PrimFunc, list[Sizes]] | None:
    """The kernel that stands for all of a form, and what each call of theirs tells it."""
    params: list[tuple[e.Var, Sizes]] = []
    values: dict[int, PrimExpr | int] = {}
    first = group[0]
    for number, column in enumerate(zip(*[kernel.form.sizes for kernel in group])):
        if len(set(column)) < 2:
            continue
        if number in first.form.memory:
            values[number] = e.IntImm(e.INT64, max(column))
            continue
        if number in first.form.rounds:
            values[number] = min(column)
            continue
        made = [_in_terms_of(var, known, column) for var, known in params]
        value = next((one for one in made if one is not None), None)
        if value is None:
            unit = gcd(*column)
            if min(column) < 1 or len(params) == _MOST:
                return None
            var = e.SizeVar(f"size_{len(params)}", e.INT64)
            params.append((var, tuple([size // unit for size in column])))
            value = _in_terms_of(*params[-1], column)
        assert value is not None, "a new parameter is a part of the size it is made for"
        values[number] = value
    func = WithSizes(values).replaced(first.func)
    assert isinstance(func, PrimFunc), "a function stays one"
    told = [tuple([sizes[number] for _, sizes in params]) for number in range(len(group))]
    new = PrimFunc(
        [*func.params, *[var for var, _ in params]], func.body, func.ret_type, func.buffer_map,
        func.attrs, func.span,
    )  # fmt: skip
    return new, told


def _in_terms_of(var: e.Var, known: Sizes, column: Sizes) -> PrimExpr | None:
    """var * a + b, if it is the size that each kernel has."""
    other = next(n for n, size in enumerate(known) if size != known[0])
    factor, rest = divmod(column[other] - column[0], known[other] - known[0])
    offset = column[0] - known[0] * factor
    if rest or any(a * factor + offset != b for a, b in zip(known, column)):
        return None
    many = ops.multiply(var, e.IntImm(e.INT64, factor))
    rule = ops.add if offset > 0 else ops.subtract
    return rule(many, e.IntImm(e.INT64, abs(offset)))


def _told(value: RelaxExpr, merged: dict[str, _Merged]) -> RelaxExpr:
    """A call of a kernel that was merged, as one of what stands for it."""
    if not (isinstance(value, Call) and is_call_of(value, "relax.call_tir")):
        return value
    callee = value.args[0]
    found = merged.get(callee.name_hint) if isinstance(callee, GlobalVar) else None
    if found is None:
        return value
    sizes: list[PrimExpr] = [e.IntImm(e.INT64, size) for size in found.told]
    if len(value.args) > 2:
        before = value.args[2]
        assert isinstance(before, ShapeExpr), "what kernels are told is written at their calls"
        sizes = [*before.values, *sizes]
    args = [found.kernel, value.args[1], *([ShapeExpr(sizes)] if sizes else [])]
    new = Call(value.op, args, value.attrs, value.sinfo_args, value.span)
    new.struct_info_ = value.struct_info_
    return new

"""Products of one operand with several weights become one product with all of them.

    lv0 = matmul(x, w0)              lv = concat((w0, w1), axis=1)
    lv1 = matmul(x, w1)      ->      lv2 = matmul(x, lv)
                                     lv3 = split(lv2, [n0], axis=1)
                                     lv0 = lv3[0]; lv1 = lv3[1]

A bias that is added to each goes along, and then an activation that all of them have. What a
weight is made of moves before the first product. Products with constants, as weights or biases,
stay as they are. One weight may have a symbolic number of columns; it comes last, as `split` takes
numbers. `check` is asked before: `check(x, [w0, w1], [bias, ...], values) -> bool`, where `values`
has what each variable of the dataflow block is bound to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.analysis import free_vars
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.op import add, concat, matmul, split
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.tidy import tidy_rebound
from tvm.tir.expr import IntImm

Check = Callable[[Var, Sequence[RelaxExpr], Sequence[RelaxExpr], Mapping[Var, RelaxExpr]], bool]
_ACTIVATIONS: Final = ("relax.nn.relu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.silu")


@relax_pass("CombineParallelMatmul")
def CombineParallelMatmul(
    func: Function, mod: IRModule, ctx: PassContext, check: Check | None = None
) -> Function:
    """No two products of one operand are left that could be one, as far as `check` agrees."""
    new = _Combiner(check).visit_expr(func)
    assert isinstance(new, Function), "functions stay functions"
    return func if new is func else tidy_rebound(new)


@dataclass
class _Branch:
    """One of the products, with what follows it alone."""

    binding: VarBinding
    weight: RelaxExpr
    bias: RelaxExpr | None = None
    activation: str | None = None
    result: VarBinding | None = None  # the last of its bindings

    @property
    def last(self) -> VarBinding:
        return self.result or self.binding


class _Combiner(PyExprMutator):
    def __init__(self, check: Check | None) -> None:
        super().__init__()
        self._check = check

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        plan: dict[Binding, tuple[list[_Branch], int]] = {}
        gone: set[Binding] = set()
        original, block = block, _weights_first(block)
        values = {b.var: b.value for b in block.bindings}
        for group in _groups(block):
            if self._allowed(group, values):
                for i, branch in enumerate(group):
                    plan[branch.last] = group, i
                    gone |= {branch.binding, *_between(block, branch)}
        if not plan:
            return super().visit_dataflow_block_(original)
        self.builder_.begin_dataflow_block()
        read = {var for binding in block.bindings for var in free_vars(binding.value)}
        parts: dict[Binding, Var] = {}  # the results of a group, by its first binding
        for binding in block.bindings:
            if binding in plan:
                assert isinstance(binding, VarBinding), "a call is bound"
                group, i = plan[binding]
                if group[0].binding not in parts:
                    parts[group[0].binding] = self._emit(group)
                if binding.var in read or not isinstance(binding.var, DataflowVar):
                    item = TupleGetItem(parts[group[0].binding], i)
                    self.reemit_binding(binding, self.builder_.normalize(item))
            elif binding not in gone:
                self.visit_binding(binding)
        return self.builder_.end_block()

    def _allowed(self, group: list[_Branch], values: Mapping[Var, RelaxExpr]) -> bool:
        """Whether the operands are all different variables, and the check agrees."""
        x = _matmul(group[0].binding).args[0]
        assert isinstance(x, Var), "operands are bound"
        biases = [b.bias for b in group if b.bias is not None]
        operands = [x, *(b.weight for b in group), *biases]
        if len(set(operands)) < len(operands) or not all(isinstance(o, Var) for o in operands):
            return False
        if self._check is None:
            return True
        return bool(self._check(x, [b.weight for b in group], biases, values))

    def _emit(self, group: list[_Branch]) -> Var:
        """The combined product, taken apart; it stands before the first result that is read."""
        bb = self.builder_
        first = _matmul(group[0].binding)
        rank = _info(group[0].weight).ndim
        x = self.visit_expr(first.args[0])
        weights = [self.visit_expr(branch.weight) for branch in group]
        whole: RelaxExpr = bb.emit(concat(Tuple(weights), axis=rank - 1))
        kind = _info(group[0].binding.var).dtype
        whole = bb.emit(matmul(x, whole, out_dtype=kind))
        biases = [self.visit_expr(b.bias) for b in group if b.bias is not None]
        if biases:
            last = _info(biases[0]).ndim - 1
            whole = bb.emit(add(whole, bb.emit(concat(Tuple(biases), axis=last))))
        if group[0].activation is not None:
            follower = group[0].last.value
            assert isinstance(follower, Call), "an activation"
            whole = bb.emit(Call(follower.op, [whole], follower.attrs))
        ends, total = [], 0
        for branch in group[:-1]:
            total += _columns(branch.weight)
            ends.append(total)
        result_rank = _info(group[0].binding.var).ndim
        return bb.emit(split(whole, ends, axis=result_rank - 1))


def _between(block: DataflowBlock, branch: _Branch) -> list[Binding]:
    """Bindings of a branch between its product and its result."""
    found: list[Binding] = []
    var: RelaxExpr = branch.binding.var
    while var is not branch.last.var:
        user = next(b for b in block.bindings if isinstance(b.value, Call) and var in b.value.args)
        found.append(user)
        var = user.var
    return found


def _weights_first(block: DataflowBlock) -> DataflowBlock:
    """What weights and biases are made of stands before the first product that they can join."""
    at = {binding.var: i for i, binding in enumerate(block.bindings)}
    reads = [
        [at[var] for var in free_vars(binding.value) if var in at] for binding in block.bindings
    ]
    first: dict[RelaxExpr, int] = {}
    place = list(range(len(block.bindings)))  # bindings of one place keep their order
    for i, binding in enumerate(block.bindings):
        if not _is(binding.value, "relax.matmul"):
            continue
        x, weight = binding.value.args[:2]  # type: ignore[attr-defined]
        start = first.setdefault(x, i)
        if start == i or not isinstance(weight, Var) or at.get(weight, -1) < start:
            continue
        needed: set[int] = set()
        pending = [at[weight]]
        while pending:
            one = pending.pop()
            if one >= place[start] and one not in needed:
                needed.add(one)
                pending += reads[one]
        if start not in needed:
            for one in needed:
                place[one] = min(place[one], place[start])
    moved = sorted(range(len(place)), key=lambda i: (place[i], place[i] == i, i))
    if moved == list(range(len(place))):
        return block
    return DataflowBlock([block.bindings[i] for i in moved], block.span)


def _groups(block: DataflowBlock) -> list[list[_Branch]]:
    """Products that can be one: same operand and form, all weights known at the first of them."""
    order = {binding.var: i for i, binding in enumerate(block.bindings)}
    users: dict[RelaxExpr, list[Binding]] = {}
    for binding in block.bindings:
        for arg in _operands(binding.value):
            users.setdefault(arg, []).append(binding)
    by_operand: dict[RelaxExpr, list[_Branch]] = {}
    for binding in block.bindings:
        if isinstance(binding, VarBinding) and _is(binding.value, "relax.matmul"):
            call = _matmul(binding)
            if isinstance(call.args[0], Var) and _has_columns(call.args[1]):
                by_operand.setdefault(call.args[0], []).append(_Branch(binding, call.args[1]))
    groups: list[list[_Branch]] = []
    for branches in by_operand.values():
        pending = branches
        while pending:
            start = order[pending[0].binding.var]
            alike = [b for b in pending if _fits(pending[0], b) and _known(b.weight, start, order)]
            alike = _open_last(alike)
            pending = [b for b in pending if b not in alike]
            if len(alike) > 1:
                groups.append(_with_followers(alike, users, start, order))
            elif not alike:
                break
    return groups


def _open_last(branches: list[_Branch]) -> list[_Branch]:
    """Those with a number of columns, and the first that has a symbol instead."""
    fixed = [b for b in branches if isinstance(_extents(b.weight)[-1], IntImm)]
    return fixed + [b for b in branches if b not in fixed][:1]


def _with_followers(
    group: list[_Branch], users: dict[RelaxExpr, list[Binding]], start: int, order: dict[Var, int]
) -> list[_Branch]:
    """The branches with the bias and the activation that every one of them has."""
    biased = [_follower(b.binding.var, users, ("relax.add",)) for b in group]
    if any(b is None for b in biased):
        return _activated(group, users)
    for branch, binding in zip(group, biased):
        assert binding is not None, "looked at above"
        call = binding.value
        assert isinstance(call, Call), "an addition"
        other = call.args[1] if call.args[0] is branch.binding.var else call.args[0]
        branch.bias, branch.result = other, binding
    if any(isinstance(b.bias, Constant) for b in group):
        return group
    ok = all(
        b.bias is not None and _known(b.bias, start, order) and _is_bias(b, group[0].bias)
        for b in group
    )
    if not ok:
        for branch in group:
            branch.bias = branch.result = None
    return _activated(group, users)


def _is_bias(branch: _Branch, first: RelaxExpr | None) -> bool:
    """Whether a bias is a row with a value for each column, of as many axes as the first bias."""
    info = branch.bias.struct_info_ if branch.bias is not None else None
    like = first.struct_info_ if first is not None else None
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return False
    if not isinstance(like, TensorStructInfo) or info.ndim != like.ndim:
        return False
    extents = info.shape.values
    if not 0 < len(extents) <= _info(branch.binding.var).ndim:
        return False
    row = all(isinstance(one, IntImm) and one.value == 1 for one in extents[:-1])
    return row and structural_equal(extents[-1], _extents(branch.weight)[-1])


def _activated(group: list[_Branch], users: dict[RelaxExpr, list[Binding]]) -> list[_Branch]:
    found = [_follower(b.last.var, users, _ACTIVATIONS) for b in group]
    names = {_name(b.value) if b is not None else "" for b in found}
    if len(names) == 1 and "" not in names:
        for branch, binding in zip(group, found):
            branch.activation, branch.result = _name(binding.value), binding  # type: ignore[union-attr]
    return group


def _follower(
    var: Var, users: dict[RelaxExpr, list[Binding]], names: tuple[str, ...]
) -> VarBinding | None:
    """The only binding that reads a variable, if it is a call of one of these operators."""
    found = users.get(var, [])
    if len(found) != 1 or not isinstance(found[0], VarBinding):
        return None
    return found[0] if _name(found[0].value) in names else None


def _fits(a: _Branch, b: _Branch) -> bool:
    one, other = _extents(a.weight), _extents(b.weight)
    if len(one) != len(other) or not all(map(structural_equal, one[:-1], other[:-1])):
        return False
    x, y = _matmul(a.binding), _matmul(b.binding)
    same = x.attrs.out_dtype == y.attrs.out_dtype  # type: ignore[union-attr]
    return same and _info(a.weight).dtype == _info(b.weight).dtype


def _known(expr: RelaxExpr, start: int, order: dict[Var, int]) -> bool:
    return isinstance(expr, Constant) or (isinstance(expr, Var) and order.get(expr, -1) < start)


def _has_columns(weight: RelaxExpr) -> bool:
    info = weight.struct_info_
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return False
    return info.ndim > 1


def _extents(weight: RelaxExpr) -> Sequence[PrimExpr]:
    shape = _info(weight).shape
    assert isinstance(shape, ShapeExpr), "looked at before"
    return shape.values


def _columns(weight: RelaxExpr) -> int:
    last = _extents(weight)[-1]
    assert isinstance(last, IntImm), "looked at before"
    return last.value


def _info(expr: RelaxExpr) -> TensorStructInfo:
    info = expr.struct_info_
    assert isinstance(info, TensorStructInfo), "products are of tensors"
    return info


def _matmul(binding: VarBinding) -> Call:
    assert isinstance(binding.value, Call), "a product"
    return binding.value


def _operands(value: RelaxExpr) -> Sequence[RelaxExpr]:
    if isinstance(value, Call):
        found: list[RelaxExpr] = []
        for arg in value.args:
            found += arg.fields if isinstance(arg, Tuple) else [arg]
        return found
    if isinstance(value, Tuple):
        return value.fields
    if isinstance(value, TupleGetItem):
        return [value.tuple_value]
    return [value]


def _name(expr: RelaxExpr) -> str:
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Op) else ""


def _is(expr: RelaxExpr, name: str) -> bool:
    return _name(expr) == name

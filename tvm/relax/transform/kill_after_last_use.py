"""Say when a value is used for the last time, so that its memory can go.

    lv = R.add(x, y)                    lv = R.add(x, y)
    gv = R.exp(lv)              ->      gv = R.exp(lv)
    return gv                           _ = R.memory.kill_tensor(lv)
                                        return gv

Storage gets `kill_storage`, a tensor `kill_tensor`, another object or a tuple `vm.kill_object`;
shapes, numbers and functions hold no memory. Parameters, what the function returns, and what is
killed already stay; what stands in a tuple may go, as the tuple holds it, too. The function becomes
canonical first:
names, items of tuples that are known and casts that say nothing new are what they stand for. Where
one stays, or a branch may give a value, that is used for the last time where one of these is; these
themselves are not killed. A branch keeps what was made around it: the other branch, or what
follows, may need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.op.base import VOID_RESULT
from tvm.relax.op.memory.memory import kill_storage, kill_tensor
from tvm.relax.op.vm.vm import kill_object
from tvm.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.transform.canonicalize_bindings import KILLS, canonicalize_bindings
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
    sub_exprs,
    with_bindings,
    with_body,
    with_value,
)

_STORAGE = ("relax.memory.alloc_storage", "relax.vm.alloc_storage")
_NO_REGISTER = (Constant, PrimValue, ShapeExpr)  # known in advance
_NO_MEMORY = (FuncStructInfo, PrimStructInfo, ShapeStructInfo)


@relax_pass("KillAfterLastUse")
def KillAfterLastUse(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Insert a kill behind the last use of every value."""
    func = canonicalize_bindings(func)
    return with_body(func, _sequence(_without_unread(func.body)))


def _reads(value: RelaxExpr) -> Iterator[Var]:
    """The variables that a value reads, those in its branches too."""
    stack: list[RelaxExpr] = [value]
    while stack:
        current = stack.pop()
        if isinstance(current, Var):
            yield current
        elif isinstance(current, SeqExpr):
            stack.append(current.body)
            for block in current.blocks:
                stack.extend(binding.value for binding in block.bindings)
        elif isinstance(current, If):
            stack += (current.false_branch, current.true_branch, current.cond)
        elif isinstance(current, Function):
            stack.append(current.body)
        else:
            inner = list(sub_exprs(current))
            stack.extend(reversed(inner[1:]))


def _with_blocks(
    seq: SeqExpr, blocks: list[BindingBlock], body: RelaxExpr | None = None
) -> SeqExpr:
    """The sequence of these blocks, without the empty ones; itself if they are the same."""
    result = seq.body if body is None else body
    if result is seq.body and all(a is b for a, b in zip(blocks, seq.blocks)):
        return seq
    new = SeqExpr([block for block in blocks if block.bindings], result, seq.span)
    new.struct_info_ = seq.struct_info_
    return new


def _with_if(
    binding: Binding, old: If, cond: RelaxExpr, true_branch: SeqExpr, false_branch: SeqExpr
) -> Binding:
    """The binding of the branch `old` with other parts; itself if they are the same."""
    same = true_branch is old.true_branch and false_branch is old.false_branch
    if same and cond is old.cond:
        return binding
    new = If(cond, true_branch, false_branch, old.span)
    new.struct_info_ = old.struct_info_
    return with_value(binding, new)


def _without_unread(seq: SeqExpr) -> SeqExpr:
    """Drop names that nobody reads, last ones first."""
    read = set(_reads(seq.body))
    blocks: list[BindingBlock] = []
    for block in reversed(seq.blocks):
        kept: list[Binding] = []
        for binding in reversed(block.bindings):
            named = isinstance(binding, VarBinding) and isinstance(binding.value, Var)
            if named and binding.var not in read:
                continue
            read.update(_reads(binding.value))
            kept.append(binding)
        blocks.append(with_bindings(block, kept[::-1]))
    return _with_blocks(seq, blocks[::-1])


def _sequence(seq: SeqExpr) -> SeqExpr:
    ends = _last_uses(seq)
    blocks: list[BindingBlock] = []
    for block in seq.blocks:
        bindings: list[Binding] = []
        for binding in block.bindings:
            bindings.append(_inside(binding))
            bindings += (_kill(call, block) for call in ends.get(binding.var, ()))
        blocks.append(with_bindings(block, bindings))
    return _with_blocks(seq, blocks)


def _inside(binding: Binding) -> Binding:
    value = binding.value
    if not isinstance(value, If):
        return binding
    branches = [_sequence(b) for b in (value.true_branch, value.false_branch)]
    return _with_if(binding, value, value.cond, *branches)


def _last_uses(seq: SeqExpr) -> dict[Var, list[Call]]:
    """For the binding of each variable the kills that follow it."""
    order: dict[Var, Binding] = {}
    last: dict[Var, Var] = {}
    names = _Names(seq)
    stays = set(names.all_of(_reads(seq.body)))
    for block in seq.blocks:
        for binding in block.bindings:
            order[binding.var] = binding
            read = names.all_of(_reads(binding.value))
            if is_call_of(binding.value, *KILLS):
                stays.update(read)
            for var in read:
                last[var] = binding.var
    found: dict[Var, list[list[Call]]] = {}
    for var, binding in order.items():
        is_name = names.of.get(var) and not isinstance(var.struct_info_, TupleStructInfo)
        if var not in last or var in stays or is_name or isinstance(binding.value, _NO_REGISTER):
            continue
        if isinstance(var.struct_info_, _NO_MEMORY):
            continue
        kinds = found.setdefault(last[var], [[], [], []])
        if not isinstance(binding, MatchCast) and is_call_of(binding.value, *_STORAGE):
            kinds[2].append(kill_storage(var))
        elif isinstance(var.struct_info_, TensorStructInfo):
            kinds[0].append(kill_tensor(var))
        else:
            kinds[1].append(kill_object(var))
    return {var: [one for kind in kinds for one in kind] for var, kinds in found.items()}


class _Names:
    """For each variable the values that it may be another name of."""

    def __init__(self, seq: SeqExpr) -> None:
        self.of: dict[Var, tuple[Var, ...]] = {}
        self._tuples: dict[Var, Tuple] = {}
        self._sequence(seq)

    def all_of(self, read: Iterable[Var]) -> list[Var]:
        """The variables, and what they are names of."""
        return [one for var in read for one in (var, *self.of.get(var, ()))]

    def _sequence(self, seq: SeqExpr) -> set[Var]:
        """Look at what a sequence binds; it is given back."""
        for block in seq.blocks:
            for binding in block.bindings:
                inner: set[Var] = set()
                if isinstance(binding.value, If):
                    for branch in (binding.value.true_branch, binding.value.false_branch):
                        inner |= self._sequence(branch)
                if isinstance(binding.value, Tuple):
                    self._tuples[binding.var] = binding.value
                meant = dict.fromkeys(self.all_of(self._meant(binding.value)))
                self.of[binding.var] = tuple(var for var in meant if var not in inner)
        return {binding.var for block in seq.blocks for binding in block.bindings}

    def _meant(self, value: RelaxExpr) -> list[Var]:
        if isinstance(value, Var):
            return [value]
        if isinstance(value, TupleGetItem):
            whole = value.tuple_value
            known = self._tuples.get(whole) if isinstance(whole, Var) else whole
            return self._meant(known.fields[value.index]) if isinstance(known, Tuple) else []
        if isinstance(value, If):
            return [*self._meant(value.true_branch.body), *self._meant(value.false_branch.body)]
        return []


def _kill(call: Call, block: BindingBlock) -> VarBinding:
    call.struct_info_ = VOID_RESULT
    kind = DataflowVar if isinstance(block, DataflowBlock) else Var
    return VarBinding(kind("_", VOID_RESULT), call)

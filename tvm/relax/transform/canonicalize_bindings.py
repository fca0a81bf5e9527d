"""Drop bindings that only give another name.

    y = x                                          with R.dataflow():
    z = (y, w)                                         gv = R.add(x, w)
    with R.dataflow():                    ->           R.output(gv)
        lv = R.add(z[0], w)                        return gv
        gv = lv
        R.output(gv)
    return gv

An item of a known tuple is the field, and a tuple of all items of another is that other. Symbols
of casts are replaced by what they stand for, and a cast to what the value is already goes too.
Where a result of a dataflow block renames an inner value, the inner one becomes the result. Results
that nobody outside reads become inner values. An item of a tuple outside of the block stays one
where the field is an inner value of the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.struct_info import TupleStructInfo
from tvm.relax.transform.canonical_symbols import canonical_symbols
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
    inner_seqs,
    replace_operands,
    vars_used,
    with_bindings,
    with_body,
    with_value,
)
from tvm.relax.transform.settle import settled

# what ends the life of a variable
KILLS: Final = ("relax.memory.kill_storage", "relax.memory.kill_tensor", "relax.vm.kill_object")


@relax_pass("CanonicalizeBindings")
def CanonicalizeBindings(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Canonicalize one function."""
    return canonicalize_bindings(func)


def canonicalize_bindings(func: Function) -> Function:
    """The function in canonical form; repeated, as a renamed result may turn into a name."""
    func = canonical_symbols(func)
    while True:
        new = _rewrite_function(func, _Plan(func))
        if new is func:
            return func
        func = settled(func, new)


class _Plan:
    """What takes the place of which variable, and which variables change their kind."""

    def __init__(self, func: Function) -> None:
        self.values: dict[Var, RelaxExpr] = {}
        self.instead: dict[RelaxExpr, RelaxExpr] = {}
        self.dropped: set[Binding] = set()
        self._killed: set[RelaxExpr] = set()  # registers of their own: another name lives on
        self._block_of: dict[Var, BindingBlock] = {}
        # what stands around the blocks and the results of sequences
        self._around: dict[BindingBlock | SeqExpr, BindingBlock | None] = {func.body: None}
        for block in _blocks(func.body):
            for binding in block.bindings:
                self.values[binding.var] = binding.value
                if is_call_of(binding.value, *KILLS):
                    self._killed.update(binding.value.args)
                self._block_of[binding.var] = block
                self._around.update(dict.fromkeys(inner_seqs(binding.value), block))
        for seq, outer in list(self._around.items()):
            assert isinstance(seq, SeqExpr), "only those were noted"
            self._around.update(dict.fromkeys(seq.blocks, outer))
        for block in _blocks(func.body):
            for binding in block.bindings:
                self._look_at(binding, block)
        self._hide_unread_results(func)

    def resolve(self, expr: RelaxExpr) -> RelaxExpr | None:
        """What stands for a variable in the end, or None for itself."""
        found = self.instead.get(expr)
        if found is None:
            return None
        while (further := self.instead.get(found)) is not None:
            found = further
        return found

    def simple(self, value: RelaxExpr, scope: BindingBlock | SeqExpr) -> RelaxExpr:
        """The field in place of an item of a known tuple, if it is in scope there."""
        if isinstance(value, TupleGetItem):
            whole = value.tuple_value
            known = self.values.get(whole) if isinstance(whole, Var) else whole
            if isinstance(known, Tuple) and self._is_seen(known.fields[value.index], scope):
                return known.fields[value.index]
        if isinstance(value, Tuple):
            same = self._same_tuple(value)
            return value if same is None or not self._is_seen(same, scope) else same
        return value

    def _same_tuple(self, value: Tuple) -> RelaxExpr | None:
        """The tuple whose items `value` lists, all of them and in order."""
        items = [self.values.get(f, f) if isinstance(f, Var) else f for f in value.fields]
        first = items[0] if items else None
        if not isinstance(first, TupleGetItem):
            return None
        whole = first.tuple_value
        info = whole.struct_info_
        if not isinstance(info, TupleStructInfo) or len(info.fields) != len(items):
            return None
        for i, item in enumerate(items):
            if not isinstance(item, TupleGetItem) or item.index != i:
                return None
            if item.tuple_value is not whole:
                return None
        return whole

    def _is_seen(self, value: RelaxExpr, scope: BindingBlock | SeqExpr) -> bool:
        """Whether a value is in scope: inner values are visible in their block alone."""
        inner = (self._block_of.get(v) for v in vars_used(value) if isinstance(v, DataflowVar))
        homes = {home for home in inner if home is not None}
        around: BindingBlock | SeqExpr | None = scope
        while homes and around is not None:
            homes.discard(around)
            around = self._around[around]
        return not homes

    def _look_at(self, binding: Binding, block: BindingBlock) -> None:
        parent = self.simple(binding.value, block)
        if not isinstance(parent, Var) or not _same_info(binding, parent):
            return
        root = self.resolve(parent) or parent
        assert isinstance(root, Var), "variables stand for variables"
        if not self._killed.isdisjoint((binding.var, parent, root)):
            return
        is_result = isinstance(block, DataflowBlock) and not isinstance(binding.var, DataflowVar)
        if not is_result or not isinstance(root, DataflowVar):
            self.instead[binding.var] = root
            self.dropped.add(binding)
        elif self._block_of.get(root) is block and self._is_bound_plainly(root, block):
            self.instead[root] = binding.var  # the inner value becomes the result
            self.dropped.add(binding)

    def _is_bound_plainly(self, var: Var, block: BindingBlock) -> bool:
        """Whether `var` is bound to a value of its own, not dropped."""
        return not any(b.var is var and b in self.dropped for b in block.bindings)

    def _hide_unread_results(self, func: Function) -> None:
        """Results of a dataflow block that only the block itself reads."""
        readers: dict[Var, set[int]] = {}
        for where, var in self._reads(func.body):
            readers.setdefault(var, set()).add(where)
        for block in _blocks(func.body):
            if not isinstance(block, DataflowBlock):
                continue
            for binding in block.bindings:
                var = binding.var
                if isinstance(var, DataflowVar) or var in self.instead or binding in self.dropped:
                    continue
                names = [var, *(v for v, w in self.instead.items() if w is var)]
                blocks = {p for name in names for p in readers.get(name, ())}  # type: ignore[call-overload]
                if blocks <= {id(block)}:
                    hidden = DataflowVar(var.name_hint, var.struct_info_, var.span)
                    self.instead[var] = hidden

    def _reads(self, seq: SeqExpr) -> Iterator[tuple[int, Var]]:
        """Every read of a variable, as it will be, with its block; results of sequences: none."""
        stack = [seq]
        while stack:
            current = stack.pop()
            yield from ((0, var) for var in vars_used(self.simple(current.body, current)))
            for block in current.blocks:
                for binding in block.bindings:
                    value = self.simple(binding.value, block)
                    yield from ((id(block), var) for var in vars_used(value))
                    stack.extend(inner_seqs(binding.value))


def _same_info(binding: Binding, value: Var) -> bool:
    """Whether the variable promises just what the value is."""
    info = binding.struct_info if isinstance(binding, MatchCast) else binding.var.struct_info_
    return info is not None and structural_equal(info, value.struct_info_)


def _blocks(seq: SeqExpr) -> Iterator[BindingBlock]:
    """All blocks, those of branches and local functions too."""
    stack = [seq]
    while stack:
        current = stack.pop()
        for block in current.blocks:
            yield block
            for binding in block.bindings:
                stack.extend(inner_seqs(binding.value))


def _rewrite_function(func: Function, plan: _Plan) -> Function:
    return with_body(func, _rewrite_seq(func.body, plan))


def _rewrite_seq(seq: SeqExpr, plan: _Plan) -> SeqExpr:
    blocks = [_rewrite_block(block, plan) for block in seq.blocks]
    body = replace_operands(plan.simple(seq.body, seq), plan.resolve)
    if body is seq.body and all(a is b for a, b in zip(blocks, seq.blocks)):
        return seq
    return SeqExpr(merge_blocks(blocks), body, seq.span)


def _rewrite_block(block: BindingBlock, plan: _Plan) -> BindingBlock:
    kept = [_rewrite_binding(b, block, plan) for b in block.bindings if b not in plan.dropped]
    return with_bindings(block, kept)


def _rewrite_binding(binding: Binding, block: BindingBlock, plan: _Plan) -> Binding:
    value = binding.value
    if isinstance(value, If):
        cond = replace_operands(value.cond, plan.resolve)
        branches = [_rewrite_seq(b, plan) for b in (value.true_branch, value.false_branch)]
        if (
            cond is not value.cond
            or branches[0] is not value.true_branch
            or branches[1] is not value.false_branch
        ):
            new: RelaxExpr = If(cond, branches[0], branches[1], value.span)
            new.struct_info_ = value.struct_info_
            value = new
    elif isinstance(value, Function):
        value = _rewrite_function(value, plan)
    else:
        value = replace_operands(plan.simple(value, block), plan.resolve)
    var = plan.instead.get(binding.var, binding.var)
    if var is binding.var:
        return with_value(binding, value)
    assert isinstance(var, Var), "variables stand for variables"
    if isinstance(binding, MatchCast):
        return MatchCast(var, value, binding.struct_info, binding.span)
    return VarBinding(var, value, binding.span or value.span)

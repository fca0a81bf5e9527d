"""Drop bindings that only give another name.

    y = x                                          with R.dataflow():
    z = (y, w)                                         gv = R.add(x, w)
    with R.dataflow():                    ->           R.output(gv)
        lv = R.add(z[0], w)                        return gv
        gv = lv
        R.output(gv)
    return gv

An item of a known tuple is the field, and a tuple of all items of a parameter is the parameter.
Constants that are no results of a block stand at all their uses; their bindings stay. Symbols
of casts are replaced by what they stand for, and a cast to what the value is already goes too.
Where a result of a dataflow block renames an inner value, the inner one becomes the result. Results
that nobody outside reads become inner values, and an inner value that is an item of a result takes
the name of that item behind the block.
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
    Constant,
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


def canonicalize_bindings(func: Function, *, joins_tuples: bool = False) -> Function:
    """The function in canonical form; repeated, as a renamed result may turn into a name.

    With `joins_tuples` a tuple of all items of any other, not of a parameter alone, is that other.
    """
    func = canonical_symbols(func)
    inlines = True
    while True:
        new = _rewrite_function(func, _Plan(func, inlines, joins_tuples))
        if new is func:
            return func
        func = settled(func, new)
        inlines = False  # results that became inner values keep their uses


class _Plan:
    """What takes the place of which variable, and which variables change their kind."""

    def __init__(self, func: Function, inlines: bool, joins_tuples: bool) -> None:
        self._inlines = inlines  # constants
        self._joins_tuples = joins_tuples
        self.values: dict[Var, RelaxExpr] = {}
        self.instead: dict[RelaxExpr, RelaxExpr] = {}
        self.constants: dict[RelaxExpr, Constant] = {}  # their bindings stay
        self.dropped: set[Binding] = set()
        self._items: dict[TupleGetItem, TupleGetItem] = {}
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
        self._inner = self._read_inside(func)
        for block in _blocks(func.body):
            for binding in block.bindings:
                self._look_at(binding, block)
        self._hide_unread_results(func)

    def _read_inside(self, func: Function) -> set[Var]:
        """What dataflow blocks bind and nothing outside of them reads."""
        found = {v for v, b in self._block_of.items() if isinstance(b, DataflowBlock)}
        stack = [func.body]
        while stack:
            seq = stack.pop()
            found.difference_update(vars_used(seq.body))
            for block in seq.blocks:
                for binding in block.bindings:
                    for var in vars_used(binding.value):
                        if self._block_of.get(var) is not block:
                            found.discard(var)
                    stack.extend(inner_seqs(binding.value))
        return found

    def resolve(self, expr: RelaxExpr) -> RelaxExpr | None:
        """What stands for a variable in the end, or None for itself."""
        found = self._name_of(expr)
        return self.constants.get(found, None if found is expr else found)

    def _name_of(self, expr: RelaxExpr) -> RelaxExpr:
        while (further := self.instead.get(expr)) is not None:
            expr = further
        return expr

    def simple(self, value: RelaxExpr, scope: BindingBlock | SeqExpr) -> RelaxExpr:
        """The field in place of an item of a known tuple, if it is in scope there."""
        if isinstance(value, TupleGetItem):
            whole = value.tuple_value
            known = self._tuple_of(whole)
            same = None if known is None else self._same_tuple(known)
            if same is not None and self._is_seen(same, scope):
                return value if same is whole else self._item(same, value)
            field = None if known is None else known.fields[value.index]
            if field is not None and field not in self._killed and self._is_seen(field, scope):
                return field
        if isinstance(value, Tuple):
            same = self._same_tuple(value)
            return value if same is None or not self._is_seen(same, scope) else same
        return value

    def _tuple_of(self, value: RelaxExpr | None) -> Tuple | None:
        """The tuple that is written for a value, also where it is a field of another one."""
        while value is not None and not isinstance(value, Tuple):
            if isinstance(value, TupleGetItem):
                outer = self._tuple_of(value.tuple_value)
                value = None if outer is None else outer.fields[value.index]
            else:
                value = self.values.get(value) if isinstance(value, Var) else None
        return value

    def kept(self, value: RelaxExpr, scope: BindingBlock | SeqExpr) -> RelaxExpr:
        """What is bound: an item that is no variable is known to its readers, and stays."""
        new = self.simple(value, scope)
        stays = isinstance(value, TupleGetItem) and not isinstance(new, (Var, TupleGetItem))
        return value if stays else new

    def _item(self, whole: RelaxExpr, like: TupleGetItem) -> TupleGetItem:
        """The same item of another tuple, made once."""
        if like not in self._items:
            self._items[like] = TupleGetItem(whole, like.index, like.span)
            self._items[like].struct_info_ = like.struct_info_
        return self._items[like]

    def _same_tuple(self, value: Tuple) -> RelaxExpr | None:
        """The tuple whose items `value` lists, all of them and in order."""
        items = [self.values.get(f, f) if isinstance(f, Var) else f for f in value.fields]
        first = items[0] if items else None
        if not isinstance(first, TupleGetItem):
            return None
        whole = first.tuple_value
        if whole in self.values and not self._joins_tuples:
            return None
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
        is_output = isinstance(block, DataflowBlock) and not isinstance(binding.var, DataflowVar)
        is_inlined = self._inlines and not is_output
        if is_inlined and isinstance(parent, Constant) and _same_info(binding, parent):
            self.constants[binding.var] = parent
        inner = self._inner_field(parent, block)
        if inner is not None and _same_info(binding, inner):
            self.instead[inner] = binding.var  # the inner value becomes a result
            self.dropped.add(binding)
            return
        if not isinstance(parent, Var) or not _same_info(binding, parent):
            return
        root = self._name_of(parent)
        assert isinstance(root, Var), "variables stand for variables"
        if root is binding.var:  # it is bound before as well
            return
        if not self._killed.isdisjoint((binding.var, parent, root)):
            return
        is_result = is_output and binding.var not in self._inner
        if not is_result or root not in self._inner:
            self.instead[binding.var] = root
            self.dropped.add(binding)
        elif self._block_of.get(root) is block and self._is_bound_plainly(root, block):
            self.instead[root] = binding.var  # the inner value becomes the result
            self.dropped.add(binding)

    def _inner_field(self, value: RelaxExpr, block: BindingBlock) -> Var | None:
        """The inner value of a block before `block` that an item of its result is."""
        if not isinstance(value, TupleGetItem) or isinstance(block, DataflowBlock):
            return None
        known = self._tuple_of(value.tuple_value)
        field = None if known is None else known.fields[value.index]
        if not isinstance(field, DataflowVar) or field in self.instead or field in self._killed:
            return None
        home = self._block_of.get(field)
        beside = home is not None and self._around[home] is self._around[block]
        bound = home is not None and self._is_bound_plainly(field, home)
        return field if beside and bound else None

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
                    value = self.kept(binding.value, block)
                    yield from ((id(block), var) for var in vars_used(value))
                    stack.extend(inner_seqs(binding.value))


def _same_info(binding: Binding, value: Var | Constant) -> bool:
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
        value = replace_operands(plan.kept(value, block), plan.resolve)
    var = plan.instead.get(binding.var, binding.var)
    if var is binding.var:
        return with_value(binding, value)
    assert isinstance(var, Var), "variables stand for variables"
    if isinstance(binding, MatchCast):
        return MatchCast(var, value, binding.struct_info, binding.span)
    return VarBinding(var, value, binding.span or value.span)

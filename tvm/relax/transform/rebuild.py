"""Rebuilding functions binding by binding: what passes share that need no scoped visitor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.ir.structural import structural_equal
from tvm.relax.analysis.variables import free_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)

# A binding as the bindings that take its place.
Rule = Callable[[Binding], Sequence[Binding]]


def with_body(func: Function, body: SeqExpr) -> Function:
    """The function with another body; itself if the body is the same."""
    if body is func.body:
        return func
    if body.struct_info_ is None:
        body.struct_info_ = body.body.struct_info_
    return Function(
        func.params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span
    )


def rebuild_seq(
    seq: SeqExpr, block_rule: Callable[[BindingBlock], BindingBlock]
) -> SeqExpr:
    """A sequence with its blocks rewritten; empty blocks disappear."""
    blocks = [block_rule(block) for block in seq.blocks]
    if all(a is b for a, b in zip(blocks, seq.blocks)):
        return seq
    new = SeqExpr([block for block in blocks if block.bindings], seq.body, seq.span)
    new.struct_info_ = seq.struct_info_
    return new


def with_bindings(block: BindingBlock, bindings: Sequence[Binding]) -> BindingBlock:
    """A block of the same kind with other bindings; itself if they are the same."""
    same = len(bindings) == len(block.bindings)
    if same and all(a is b for a, b in zip(bindings, block.bindings)):
        return block
    return type(block)(bindings, block.span)


def with_value(binding: Binding, value: RelaxExpr) -> Binding:
    """The binding with another value."""
    if value is binding.value:
        return binding
    span = binding.span or value.span
    if isinstance(binding, MatchCast):
        return MatchCast(binding.var, value, binding.struct_info, span)
    return VarBinding(binding.var, value, span)


def map_bindings(func: Function, rule: Rule) -> Function:
    """The function with every binding replaced by what `rule` gives, in branches too."""
    return with_body(func, _map_seq(func.body, rule))


def _map_seq(seq: SeqExpr, rule: Rule) -> SeqExpr:
    def on_block(block: BindingBlock) -> BindingBlock:
        new: list[Binding] = []
        for binding in block.bindings:
            new.extend(rule(_map_inside(binding, rule)))
        return with_bindings(block, new)

    return rebuild_seq(seq, on_block)


def _map_inside(binding: Binding, rule: Rule) -> Binding:
    return with_inner(binding, lambda seq: _map_seq(seq, rule))


def with_inner(binding: Binding, rule: Callable[[SeqExpr], SeqExpr]) -> Binding:
    """Rewrite the sequences that nest in a binding's value: branches, local functions."""
    value = binding.value
    if isinstance(value, If):
        true_branch, false_branch = rule(value.true_branch), rule(value.false_branch)
        if true_branch is value.true_branch and false_branch is value.false_branch:
            return binding
        new = If(value.cond, true_branch, false_branch, value.span)
        new.struct_info_ = value.struct_info_
        return with_value(binding, new)
    if isinstance(value, Function):
        return with_value(binding, with_body(value, rule(value.body)))
    return binding


def map_dataflow_blocks(
    func: Function, rule: Callable[[DataflowBlock], DataflowBlock]
) -> Function:
    """The function with every dataflow block replaced by what `rule` gives, also in branches.

    What nests in a dataflow block is that block's own.
    """

    def on_seq(seq: SeqExpr) -> SeqExpr:
        return rebuild_seq(seq, on_block)

    def on_block(block: BindingBlock) -> BindingBlock:
        if isinstance(block, DataflowBlock):
            return rule(block)
        return with_bindings(block, [with_inner(b, on_seq) for b in block.bindings])

    return with_body(func, on_seq(func.body))


def rewrite_functions(
    mod: IRModule, rule: Callable[[BlockBuilder, Function], Function]
) -> IRModule:
    """The module with what `rule` makes of its Relax functions, and what it adds to the builder."""
    bb = BlockBuilder(mod)
    changed: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            new = rule(bb, func)
            if new is not func:
                changed[var] = new
    if not changed:
        return mod
    made = bb.get()
    return made.with_functions({**made.functions, **changed})


def map_calls(func: Function, rule: Callable[[Call], RelaxExpr]) -> Function:
    """The function with every bound call replaced by what `rule` gives."""

    def on_binding(binding: Binding) -> Sequence[Binding]:
        if isinstance(binding.value, Call):
            return (with_value(binding, rule(binding.value)),)
        return (binding,)

    return map_bindings(func, on_binding)


# What a call of an operator becomes; the rule may emit bindings that stand before it.
CallRule = Callable[[BlockBuilder, Call], RelaxExpr]


def rewrite_calls(
    func: Function,
    rules: Mapping[str, CallRule],
    bb: BlockBuilder | None = None,
    *,
    takes_fields: bool = False,
) -> Function:
    """The function with calls of operators replaced by what the rule of their name gives.

    Rules are asked for all bindings, those in branches and local functions too; one that gives back
    its call leaves it. What they emit and give has the span of the call. With `takes_fields`, items
    of a tuple that a rule gave are read from its fields.
    """
    builder = BlockBuilder() if bb is None else bb
    tuples: dict[Var, Tuple] = {}

    def rule_of(binding: Binding) -> CallRule | None:
        value = binding.value
        if isinstance(binding, MatchCast) or not isinstance(value, Call):
            return None
        return rules.get(value.op.name) if isinstance(value.op, Op) else None

    def rewritten(binding: Binding) -> Binding:
        value = binding.value
        if isinstance(value, TupleGetItem) and isinstance(value.tuple_value, Var):
            known = tuples.get(value.tuple_value)
            return binding if known is None else with_value(binding, known.fields[value.index])
        rule = rule_of(binding)
        if rule is None or not isinstance(value, Call):
            return binding
        with span_scope(binding.span or value.span):
            new = builder.normalize(rule(builder, value))
        if takes_fields and isinstance(new, Tuple):
            tuples[binding.var] = new
        # the binding's span, and not that of a value which the rule may have taken from elsewhere
        return binding if new is value else VarBinding(binding.var, new, binding.span or value.span)

    def inside(binding: Binding) -> Binding:
        if not isinstance(binding.value, Function):
            return with_inner(binding, on_seq)
        builder.begin_scope(binding.value.params)
        new = with_inner(binding, on_seq)
        builder.end_scope()
        return new

    def fill(block: BindingBlock) -> None:
        for binding in block.bindings:
            builder.emit_normalized(rewritten(inside(binding)))

    def on_seq(seq: SeqExpr) -> SeqExpr:
        return rebuild_seq(seq, on_block)

    def on_block(block: BindingBlock) -> BindingBlock:
        asked = any(rule_of(b) or isinstance(b.value, (If, Function)) for b in block.bindings)
        return builder.rebuilt(block, fill) if asked else block

    builder.begin_scope(func.params)
    body = on_seq(func.body)
    builder.end_scope()
    return with_body(func, body)


def vars_of_dataflow(func: Function) -> Iterator[Var]:
    """The variables that dataflow blocks bind, their outputs too."""
    for block in all_blocks(func):
        if isinstance(block, DataflowBlock):
            yield from (binding.var for binding in block.bindings)


def all_bindings(func: Function) -> Iterator[Binding]:
    """Every binding of a function; those of branches and local functions after the block's own."""
    for block in all_blocks(func):
        yield from block.bindings


def all_blocks(func: Function) -> Iterator[BindingBlock]:
    """Every block of bindings, each before those of the branches and functions in it."""
    stack: list[SeqExpr] = [func.body]
    while stack:
        for block in stack.pop().blocks:
            yield block
            for binding in block.bindings:
                stack.extend(reversed(inner_seqs(binding.value)))


def inner_seqs(value: RelaxExpr) -> list[SeqExpr]:
    """The sequences that nest in a binding's value."""
    if isinstance(value, If):
        return [value.true_branch, value.false_branch]
    return [value.body] if isinstance(value, Function) else []


def sub_exprs(expr: RelaxExpr) -> Iterator[RelaxExpr]:
    """`expr` and the expressions directly in it: operands, fields; not what nests in branches."""
    stack: list[RelaxExpr] = [expr]
    while stack:
        current = stack.pop()
        yield current
        if isinstance(current, Call):
            stack.extend(reversed(current.args))
            stack.append(current.op)
        elif isinstance(current, Tuple):
            stack.extend(reversed(current.fields))
        elif isinstance(current, TupleGetItem):
            stack.append(current.tuple_value)
        elif isinstance(current, If):
            stack.append(current.cond)
            stack.extend((current.true_branch.body, current.false_branch.body))


def vars_used(expr: RelaxExpr) -> Iterator[Var]:
    """The variables an expression reads, with repeats."""
    return (e for e in sub_exprs(expr) if isinstance(e, Var))


def vars_needed(expr: RelaxExpr) -> Iterator[Var]:
    """As `vars_used`, with what a local function captures."""
    return iter(free_vars(expr)) if isinstance(expr, Function) else vars_used(expr)


def replace_operands(
    expr: RelaxExpr, replace: Callable[[RelaxExpr], RelaxExpr | None]
) -> RelaxExpr:
    """`expr` with operands replaced where `replace` gives something; same object if nothing is.

    A call keeps its struct info if its operands keep theirs; else it has none yet, and gets what
    follows from the operands when the pass settles.
    """
    found = replace(expr)
    if found is not None:
        return found
    if isinstance(expr, Call):
        op = replace_operands(expr.op, replace)
        args = [replace_operands(arg, replace) for arg in expr.args]
        if op is expr.op and all(a is b for a, b in zip(args, expr.args)):
            return expr
        call = Call(op, args, expr.attrs, expr.sinfo_args, expr.span)
        if _same_infos((op, *args), (expr.op, *expr.args)):
            call.struct_info_ = expr.struct_info_
        return call
    if isinstance(expr, Tuple):
        fields = [replace_operands(field, replace) for field in expr.fields]
        if all(a is b for a, b in zip(fields, expr.fields)):
            return expr
        return Tuple(fields, expr.span)
    if isinstance(expr, TupleGetItem):
        value = replace_operands(expr.tuple_value, replace)
        if value is expr.tuple_value:
            return expr
        if isinstance(value, Tuple):
            return value.fields[expr.index]
        return TupleGetItem(value, expr.index, expr.span)
    return expr


def _same_infos(new: Sequence[RelaxExpr], old: Sequence[RelaxExpr]) -> bool:
    pairs = ((a.struct_info_, b.struct_info_) for a, b in zip(new, old) if a is not b)
    return all(a is b or structural_equal(a, b) for a, b in pairs)

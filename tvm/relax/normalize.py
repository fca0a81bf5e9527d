"""Normal form: operands are leaves or tuples of leaves, every step is bound, struct info is filled.

    gv = add(multiply(x, y), z)      ->      lv = multiply(x, y)
                                             gv = add(lv, z)

Nested operands are bound innermost first, by a loop; nested sequences become part of the block that
holds them. A variable of the empty tuple says no more than `R.tuple()`, which takes its place.
Outside of any block there is nowhere to bind, and only struct info is filled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.op import Op

from .derive import derive_call_ret_struct_info
from .expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from .struct_info import (
    ShapeExpr,
    TupleStructInfo,
)
from .struct_info_rules import common_struct_info

if TYPE_CHECKING:
    from .block_builder import BlockBuilder

LEAVES: Final = (
    Var, Constant, ShapeExpr, GlobalVar, Op, ExternFunc, PrimValue, StringImm, DataTypeImm,
)  # fmt: skip
_LEAF_TYPES: Final = frozenset(LEAVES)


def is_leaf(expr: RelaxExpr) -> bool:
    """True for an expression that may stand as an operand."""
    return type(expr) in _LEAF_TYPES or isinstance(expr, LEAVES)


def is_leaf_or_tuple(expr: RelaxExpr) -> bool:
    """True for a leaf, and for a tuple, whose fields are operands of their own."""
    return is_leaf(expr) or isinstance(expr, Tuple)


def normalize(bb: BlockBuilder, expr: RelaxExpr) -> RelaxExpr:
    """The expression in normal form, with struct info; new steps are bound in the current block."""
    if type(expr) in _LEAF_TYPES:
        return _empty_tuple() if _is_empty_tuple(expr) and bb.in_block() else _leaf(expr)
    if isinstance(expr, (Call, Tuple, TupleGetItem)):
        if any(not _is_settled(operand) for operand in _operands(expr)):
            return _normalize_nested(bb, expr)
        return _finish(bb, expr)
    if isinstance(expr, SeqExpr):
        if expr.struct_info_ is not None and is_leaf_or_tuple(expr.body):
            return expr  # only this file and the mutator fill it, for sequences in normal form
        return _normalize_seq(bb, expr)
    if isinstance(expr, If):
        return _normalize_if(bb, expr)
    if isinstance(expr, Function):
        return _normalize_function(bb, expr)
    return _leaf(expr)


def normalize_argument(bb: BlockBuilder, expr: RelaxExpr) -> RelaxExpr:
    """The expression as an operand: bound to a variable unless it is a leaf or a tuple."""
    new = normalize(bb, expr)
    if bb.in_block() and not is_leaf_or_tuple(new):
        return bb.emit(new)
    return new


def _is_empty_tuple(expr: RelaxExpr) -> bool:
    info = expr.struct_info_
    return type(info) is TupleStructInfo and not info.fields and isinstance(expr, Var)


def _is_settled(operand: RelaxExpr) -> bool:
    return is_leaf(operand) and not _is_empty_tuple(operand)


def _empty_tuple() -> RelaxExpr:
    value = Tuple([])
    value.struct_info_ = TupleStructInfo([])
    return value


def _leaf(expr: RelaxExpr) -> RelaxExpr:
    if not isinstance(expr, RelaxExpr):
        raise TypeError(
            f"normalize: a Relax expression is wanted; found {type(expr).__name__}: {expr!r}"
        )
    if expr.struct_info_ is None and isinstance(expr, Var):
        raise CheckError(
            f"normalize: the variable {expr.name_hint!r} has no struct info; "
            "it must be a parameter with struct info, or be bound before it is used"
        )
    return expr


def _operands(expr: RelaxExpr) -> tuple[RelaxExpr, ...]:
    if isinstance(expr, Call):
        return (expr.op, *expr.args)
    if isinstance(expr, Tuple):
        return expr.fields
    if isinstance(expr, TupleGetItem):
        return (expr.tuple_value,)
    return ()


def _normalize_nested(bb: BlockBuilder, root: RelaxExpr) -> RelaxExpr:
    """Children before parents with an explicit stack; an operand is bound once in a block."""
    done: dict[int, RelaxExpr] = {}
    stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
    while stack:
        expr, entered = stack.pop()
        if id(expr) in done:
            continue
        known = bb.operand_of(expr) if expr is not root else None
        if known is not None:
            done[id(expr)] = known
            continue
        parts = _operands(expr)
        if not entered and parts:
            stack.append((expr, True))
            stack.extend([(part, False) for part in reversed(parts) if not _is_settled(part)])
            continue
        if parts:
            new = _finish(bb, _with_operands(expr, [done.get(id(p), p) for p in parts]))
        else:
            new = normalize(bb, expr)
        if expr is not root and bb.in_block() and not is_leaf_or_tuple(new):
            new = bb.emit_operand(expr, new)
        done[id(expr)] = new
    return done[id(root)]


def _with_operands(expr: RelaxExpr, parts: Sequence[RelaxExpr]) -> RelaxExpr:
    if all(new is old for new, old in zip(parts, _operands(expr))):
        return expr
    if isinstance(expr, Call):
        return Call(parts[0], parts[1:], expr.attrs, expr.sinfo_args, expr.span)
    if isinstance(expr, Tuple):
        return Tuple(parts, expr.span)
    assert isinstance(expr, TupleGetItem), "only these have operands"
    return TupleGetItem(parts[0], expr.index, expr.span)


def _finish(bb: BlockBuilder, expr: RelaxExpr) -> RelaxExpr:
    """Fill the struct info of an expression whose operands are normal."""
    if isinstance(expr, Call):
        if isinstance(expr.op, Op):
            rule: Callable[[BlockBuilder, Call], RelaxExpr] | None
            rule = expr.op.get_attr("FInlineOperands")
            if rule is None and bb.applies_operator_rules:
                rule = expr.op.get_attr("FNormalize")
            if rule is not None:
                found = rule(bb, expr)
                if found is not expr:
                    return normalize(bb, found)
        if expr.struct_info_ is None:
            for arg in expr.args:
                if arg.struct_info_ is None:
                    _leaf(arg)
            expr.struct_info_ = infer_call(bb, expr)
    elif expr.struct_info_ is None:
        if isinstance(expr, Tuple):
            expr.struct_info_ = TupleStructInfo([field.struct_info for field in expr.fields])
        elif isinstance(expr, TupleGetItem):
            expr.struct_info_ = _item_info(expr)
    return expr


def _item_info(expr: TupleGetItem) -> StructInfo:
    info = expr.tuple_value.struct_info
    if not isinstance(info, TupleStructInfo):
        raise CheckError(f"TupleGetItem takes an item of a tuple; {expr.tuple_value} is {info}")
    if expr.index >= len(info.fields):
        raise CheckError(f"TupleGetItem: item {expr.index} of a tuple of {len(info.fields)} fields")
    return info.fields[expr.index]


def infer_call(bb: BlockBuilder, call: Call) -> StructInfo:
    """The struct info of a call whose operands are known, by the callee's rule."""
    callee = call.op
    if isinstance(callee, Op):
        rule: Callable[[Call, Any], StructInfo] | None = callee.get_attr("FInferStructInfo")
        if rule is None:
            raise CheckError(
                f"normalize: operator {callee.name} has no rule for the struct info of its result "
                "(attribute FInferStructInfo)"
            )
        return rule(call, bb)
    return bb.erase(derive_call_ret_struct_info(callee.struct_info, call, bb))


def _normalize_if(bb: BlockBuilder, expr: If) -> RelaxExpr:
    cond = normalize_argument(bb, expr.cond)
    true_branch = normalize_in_new_scope(bb, expr.true_branch)
    false_branch = normalize_in_new_scope(bb, expr.false_branch)
    if (
        cond is not expr.cond
        or true_branch is not expr.true_branch
        or false_branch is not expr.false_branch
    ):
        expr = If(cond, true_branch, false_branch, expr.span)
    if expr.struct_info_ is None:
        a = bb.erase(true_branch.struct_info)
        b = bb.erase(false_branch.struct_info)
        expr.struct_info_ = common_struct_info(a, b, bb.analyzer)
    return expr


def normalize_in_new_scope(
    bb: BlockBuilder, expr: RelaxExpr, params: Sequence[Var] | None = None
) -> RelaxExpr:
    """The expression normalised where its own bindings are not seen from outside."""
    bb.begin_scope(params)
    try:
        return normalize(bb, expr)
    finally:
        bb.end_scope()


def _normalize_function(bb: BlockBuilder, func: Function) -> RelaxExpr:
    body = normalize_in_new_scope(bb, func.body, func.params)
    if body is func.body:
        return func
    return Function(
        func.params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span
    )


def _normalize_seq(bb: BlockBuilder, seq: SeqExpr) -> RelaxExpr:
    blocks: list[BindingBlock] = [_normalize_block(bb, block) for block in seq.blocks]
    bb.begin_binding_block()
    body = normalize_argument(bb, seq.body)
    prologue = bb.end_block()
    if prologue.bindings:
        blocks.append(prologue)
    merged = merge_blocks(blocks)
    same = len(merged) == len(seq.blocks) and all(a is b for a, b in zip(merged, seq.blocks))
    if not same or body is not seq.body:
        seq = SeqExpr(merged, body, seq.span)
    if seq.struct_info_ is None:
        seq.struct_info_ = body.struct_info_
    return seq


def _normalize_block(bb: BlockBuilder, block: BindingBlock) -> BindingBlock:
    if isinstance(block, DataflowBlock):
        bb.begin_dataflow_block()
    else:
        bb.begin_binding_block()
    for binding in block.bindings:
        bb.emit_normalized(_normalize_binding(bb, binding))
    new = bb.end_block()
    if len(new.bindings) == len(block.bindings) and all(
        a is b for a, b in zip(new.bindings, block.bindings)
    ):
        return block
    return type(block)(new.bindings, block.span)


def _normalize_binding(bb: BlockBuilder, binding: Binding) -> Binding:
    if isinstance(binding, MatchCast):
        value = normalize_argument(bb, binding.value)
        if binding.var.struct_info_ is None:
            binding.var.struct_info_ = binding.struct_info
        if value is binding.value:
            return binding
        return MatchCast(binding.var, value, binding.struct_info, binding.span)
    value = binding.value
    if isinstance(value, Function) and binding.var.struct_info_ is None:
        # a local function may call itself, so its variable is known before its body
        binding.var.struct_info_ = value.struct_info_
    value = normalize(bb, value)
    if binding.var.struct_info_ is None:
        binding.var.struct_info_ = value.struct_info_
    return binding if value is binding.value else VarBinding(binding.var, value, binding.span)


def normal_seq(blocks: Sequence[BindingBlock], body: RelaxExpr, like: SeqExpr) -> SeqExpr:
    """A sequence of blocks made by a builder; struct info is filled if all values have one."""
    merged = merge_blocks(blocks)
    seq = SeqExpr(merged, body, like.span)
    if all(b.value.struct_info_ is not None for block in merged for b in block.bindings):
        seq.struct_info_ = body.struct_info_
    return seq


def merge_blocks(blocks: Sequence[BindingBlock]) -> list[BindingBlock]:
    """Blocks without empty ones, nested sequences flattened, neighbours of one kind merged.

    A sequence that stands in several places binds its variables at the first of them.
    """
    merged: list[BindingBlock] = []
    bound: set[SeqExpr] = set()
    for block in (part for whole in blocks for part in _flatten(whole, bound)):
        if not block.bindings:
            continue
        if merged and type(merged[-1]) is type(block):
            last = merged[-1]
            merged[-1] = type(block)((*last.bindings, *block.bindings), last.span)
        else:
            merged.append(block)
    return merged


def _flatten(block: BindingBlock, bound: set[SeqExpr]) -> list[BindingBlock]:
    """A block as several, where a binding's value is a sequence: its blocks stand before it."""
    if not any(isinstance(b.value, SeqExpr) for b in block.bindings):
        return [block]
    dataflow = isinstance(block, DataflowBlock)  # which a block of another kind divides
    result: list[BindingBlock] = []
    pending: list[Binding] = []
    for binding in block.bindings:
        seq = binding.value
        if isinstance(seq, SeqExpr):
            if isinstance(seq.body, DataflowVar) and not dataflow:
                raise CheckError(
                    message(
                        "Malformed AST: a sequence gives a variable that only its dataflow block "
                        "sees",
                        found=f"DataflowVar {seq.body.name_hint!r}",
                        legal="a Var, which is an output of the block",
                    )
                )
            if seq not in bound:
                bound.add(seq)
                result.append(type(block)(pending, block.span))
                for inner in seq.blocks:
                    result.extend(_flatten(inner, bound))
                pending = []
            if isinstance(binding, MatchCast):
                binding = MatchCast(binding.var, seq.body, binding.struct_info, binding.span)
            else:
                binding = VarBinding(binding.var, seq.body, binding.span)
        pending.append(binding)
    result.append(type(block)(pending, block.span))
    return result

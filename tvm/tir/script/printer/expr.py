"""How expressions of TensorIR print."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tvm.ir.expr import OPERATORS, GlobalVar, PrimExpr
from tvm.ir.op import Op
from tvm.script.ir_dialect.printer import dtype_doc
from tvm.script.printer.doc import (
    DictDoc,
    ExprDoc,
    IdDoc,
    IndexDoc,
    LambdaDoc,
    ListDoc,
    LiteralDoc,
    OperationDoc,
    OperationKind,
    TupleDoc,
)
from tvm.script.printer.docsifier import Docsifier, rule
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.lazy_equal import EqualOp, NotEqualOp
from tvm.tir.op import arith

from .names import define_var, id_of

_FOLDABLE: Final = (e.IntImm, e.FloatImm, e.Broadcast, e.Ramp)


@rule(e.IntImm, dialect="tir")
def _int_imm(imm: e.IntImm, d: Docsifier) -> ExprDoc:
    if imm.dtype is d.cfg.int_dtype:
        return LiteralDoc(imm.value)
    value: bool | int = bool(imm.value) if imm.dtype.is_bool else imm.value
    return dtype_doc(imm.dtype, d).call(LiteralDoc(value))


@rule(e.FloatImm, dialect="tir")
def _float_imm(imm: e.FloatImm, d: Docsifier) -> ExprDoc:
    if imm.dtype is d.cfg.float_dtype and math.isfinite(imm.value):
        return LiteralDoc(imm.value)
    return dtype_doc(imm.dtype, d).call(LiteralDoc(imm.value))


@rule(e.StringImm, dialect="tir")
def _string_imm(imm: e.StringImm, d: Docsifier) -> ExprDoc:
    if "\n" in imm.value:
        return d.metadata_of(imm, imm.TYPE_KEY)
    return LiteralDoc(imm.value)


# Makes the document of a node from those of its operands.
Maker = Callable[[Any, list[ExprDoc], Docsifier], ExprDoc]


class _Sugar:
    """A node kind with an operator: the operator, the function behind it, the node's own word."""

    __slots__ = ("build", "kind", "word")

    def __init__(self, kind: OperationKind, build: Callable[..., PrimExpr], word: str) -> None:
        self.kind: Final = kind
        self.build: Final = build
        self.word: Final = word


_OPERATORS: Final[dict[type, _Sugar]] = {
    e.Add: _Sugar(OperationKind.Add, arith.add, "Add"),
    e.Sub: _Sugar(OperationKind.Sub, arith.subtract, "Sub"),
    e.Mul: _Sugar(OperationKind.Mult, arith.multiply, "Mul"),
    e.Div: _Sugar(OperationKind.Div, arith.div, "Div"),
    e.FloorDiv: _Sugar(OperationKind.FloorDiv, arith.floordiv, "FloorDiv"),
    e.FloorMod: _Sugar(OperationKind.Mod, arith.floormod, "FloorMod"),
    e.EQ: _Sugar(OperationKind.Eq, arith.equal, "EQ"),
    e.NE: _Sugar(OperationKind.NotEq, arith.not_equal, "NE"),
    e.LT: _Sugar(OperationKind.Lt, arith.less, "LT"),
    e.LE: _Sugar(OperationKind.LtE, arith.less_equal, "LE"),
    e.GT: _Sugar(OperationKind.Gt, arith.greater, "GT"),
    e.GE: _Sugar(OperationKind.GtE, arith.greater_equal, "GE"),
    e.And: _Sugar(OperationKind.And, arith.logical_and, "And"),
    e.Or: _Sugar(OperationKind.Or, arith.logical_or, "Or"),
}


def _stacked(root: Any, d: Docsifier) -> ExprDoc:
    """Operators of any depth: operands are printed left to right from an explicit stack."""
    docs: list[ExprDoc] = []
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, entered = stack.pop()
        kind = type(node)
        if kind not in _MAKERS:
            docs.append(d.expr(node))
        elif not entered:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(_children(node)))
        else:
            count = len(_children(node))
            made = _MAKERS[kind](node, docs[-count:], d)
            del docs[-count:]
            if node is not root:
                d.mark(node, made)
            docs.append(made)
    return docs[0]


def _children(node: Any) -> tuple[Any, ...]:
    if isinstance(node, e.Cast):
        return (node.value,)
    return (node.a,) if isinstance(node, e.Not) else (node.a, node.b)


def _cast(node: e.Cast, docs: list[ExprDoc], d: Docsifier) -> ExprDoc:
    return d.word("tir", "Cast").call(LiteralDoc(str(node.dtype)), docs[0])


def _operation(node: Any, docs: list[ExprDoc], d: Docsifier) -> ExprDoc:
    """`a + b`, or `T.Add(a, b)` where the operator would fold or give something else."""
    sugar = _OPERATORS[type(node)]
    if _reads_back(node, sugar):
        return OperationDoc(sugar.kind, tuple(docs))
    return d.word("tir", sugar.word).call(*docs)


# On floats these operators give other nodes than the division they are named for.
_WHOLE_ONLY: Final = (OperationKind.FloorDiv, OperationKind.Mod)


def _reads_back(node: Any, sugar: _Sugar) -> bool:
    a, b = node.a, node.b
    if sugar.kind is OperationKind.Div and not a.dtype.is_floating:
        return False
    if not isinstance(a, _FOLDABLE) and not isinstance(b, _FOLDABLE):
        return a.dtype.is_integer or sugar.kind not in _WHOLE_ONLY
    try:
        made = sugar.build(a, b)
    except (ValueError, TypeError, RuntimeError, ArithmeticError):
        return False  # such as a division by the literal zero: only the node's word can say it
    return type(made) is type(node) and made.a is a and made.b is b  # type: ignore[attr-defined]


def _named_pair(word: str, node_word: str, build: Callable[..., PrimExpr]) -> Maker:
    """Makes `T.min(a, b)`, or `T.Min(a, b)` where the function folds."""

    def make(node: Any, docs: list[ExprDoc], d: Docsifier) -> ExprDoc:
        plain = node.a is not node.b and not _absorbs(node, build)
        return d.word("tir", word if plain else node_word).call(*docs)

    return make


def _absorbs(node: Any, build: Callable[..., PrimExpr]) -> bool:
    if not isinstance(node.a, _FOLDABLE) and not isinstance(node.b, _FOLDABLE):
        return False
    try:
        return type(build(node.a, node.b)) is not type(node)
    except (ValueError, TypeError, RuntimeError, ArithmeticError):
        return True


def _not(node: e.Not, docs: list[ExprDoc], d: Docsifier) -> ExprDoc:
    if isinstance(node.a, e.IntImm):
        return d.word("tir", "Not").call(*docs)
    return OperationDoc(OperationKind.Not, tuple(docs))


_MAKERS: Final[dict[type, Maker]] = {
    **dict.fromkeys(_OPERATORS, _operation),
    e.Mod: lambda node, docs, d: d.word("tir", "truncmod").call(*docs),
    e.Min: _named_pair("min", "Min", arith.min_of),
    e.Max: _named_pair("max", "Max", arith.max_of),
    e.Not: _not,
    e.Cast: _cast,
}
rule(*_MAKERS, dialect="tir")(_stacked)


@rule(EqualOp, dialect="tir")
def _lazy_equal(node: EqualOp, d: Docsifier) -> ExprDoc:
    return OperationDoc(OperationKind.Eq, (d.expr(node.a), d.expr(node.b)))


@rule(NotEqualOp, dialect="tir")
def _lazy_not_equal(node: NotEqualOp, d: Docsifier) -> ExprDoc:
    return OperationDoc(OperationKind.NotEq, (d.expr(node.a), d.expr(node.b)))


@rule(e.Select, dialect="tir")
def _select(node: e.Select, d: Docsifier) -> ExprDoc:
    parts = d.exprs((node.condition, node.true_value, node.false_value))
    return d.word("tir", "Select").call(*parts)


@rule(e.Ramp, dialect="tir")
def _ramp(node: e.Ramp, d: Docsifier) -> ExprDoc:
    return d.word("tir", "Ramp").call(*d.exprs((node.base, node.stride, node.lanes)))


@rule(e.Broadcast, dialect="tir")
def _broadcast(node: e.Broadcast, d: Docsifier) -> ExprDoc:
    return d.word("tir", "Broadcast").call(*d.exprs((node.value, node.lanes)))


@rule(e.Shuffle, dialect="tir")
def _shuffle(node: e.Shuffle, d: Docsifier) -> ExprDoc:
    vectors, indices = ListDoc(d.exprs(node.vectors)), ListDoc(d.exprs(node.indices))
    return d.word("tir", "Shuffle").call(vectors, indices)


@rule(e.Let, dialect="tir")
def _let(node: e.Let, d: Docsifier) -> ExprDoc:
    where = DictDoc({d.expr(node.var): d.expr(node.value)})
    return d.word("tir", "Let").call(d.expr(node.body), where=where)


@rule(e.ProducerLoad, dialect="tir")
def _producer_load(node: e.ProducerLoad, d: Docsifier) -> ExprDoc:
    return IndexDoc(IdDoc(node.producer.get_name_hint()), d.exprs(node.indices))


def _global_call(node: e.Call, func: GlobalVar, d: Docsifier) -> ExprDoc:
    """`cls.f(x)`; a function that the text does not define is told by the node itself."""
    if d.is_defined(func):
        return d.expr(func).call(*d.exprs(node.args))
    callee = d.word("tir", "GlobalVar").call(LiteralDoc(func.name_hint))
    if node.dtype.is_void:
        return callee.call(*d.exprs(node.args))
    args = ListDoc(d.exprs(node.args))
    return d.word("tir", "Call").call(LiteralDoc(str(node.dtype)), callee, args)


@rule(e.Call, dialect="tir")
def _call(node: e.Call, d: Docsifier) -> ExprDoc:
    if isinstance(node.op, GlobalVar):
        return _global_call(node, node.op, d)
    args = [_call_arg(arg, d) for arg in node.args]
    if _folds_away(node):
        head = (LiteralDoc(str(node.dtype)), LiteralDoc(node.op.name), ListDoc(args))
        return d.word("tir", "Call").call(*head)
    location = node.op.get_attr("TScriptDtypePrintLocation")
    if location == "first":
        args.insert(0, LiteralDoc(str(node.dtype)))
    elif location == "last":
        args.append(LiteralDoc(str(node.dtype)))
    if node.op.name in _LLVM_CALLS:
        _name_llvm_intrinsic(node, args)
    return d.word("tir", script_name(node.op)).call(*args)


_LLVM_CALLS: Final = ("tir.call_llvm_intrin", "tir.call_llvm_pure_intrin")
# Functions of `T` that give another node where all operands are literals.
_FOLDING: Final = frozenset(
    "tir." + name
    for name in ("floor", "ceil", "trunc", "round", "nearbyint", "isnan", "isinf", "isfinite",
                 "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right",
                 "likely", "if_then_else", "pow")
)  # fmt: skip


def script_name(op: Op) -> str:
    """The word of an operator in `T`."""
    return str(op.get_attr("TScriptPrinterName") or op.name.removeprefix("tir."))


def _call_arg(arg: Any, d: Docsifier) -> ExprDoc:
    return d.expr(arg)


def _folds_away(node: e.Call) -> bool:
    """True where the script's function would not give this call back."""
    op = node.op
    if not isinstance(op, Op) or op.name not in _FOLDING or not node.args:
        return False
    if op.name == "tir.pow":
        return arith.is_one(node.args[1])
    if op.name.startswith(("tir.bitwise_", "tir.shift_")) and not arith.is_index_type(node.dtype):
        return False
    literals = node.args[:1] if op.name == "tir.if_then_else" else node.args
    return all(isinstance(arg, (e.IntImm, e.FloatImm)) for arg in literals)


def _name_llvm_intrinsic(node: e.Call, args: list[ExprDoc]) -> None:
    """Intrinsics are known by name; a number stays where no name is known."""
    first = node.args[0] if node.args else None
    if isinstance(first, e.StringImm):
        args[1] = LiteralDoc(first.value)


@rule(e.CommReducer, dialect="tir")
def _comm_reducer(node: e.CommReducer, d: Docsifier) -> ExprDoc:
    with d.frame(node, "tir") as frame:
        args = [id_of(define_var(var, frame, d)) for var in (*node.lhs, *node.rhs)]
        results = d.exprs(node.result)
        body = results[0] if len(results) == 1 else TupleDoc(results)
        identity = ListDoc(d.exprs(node.identity_element))
        return d.word("tir", "comm_reducer").call(LambdaDoc(args, body), identity)


@rule(e.Reduce, dialect="tir")
def _reduce(node: e.Reduce, d: Docsifier) -> ExprDoc:
    return d.word("tir", "reduce").call(
        d.expr(node.combiner),
        source=ListDoc(d.exprs(node.source)),
        init=ListDoc(d.exprs(node.init)),
        axis=ListDoc(d.exprs(node.axis)),
        condition=d.expr(node.condition),
        value_index=LiteralDoc(node.value_index),
    )


def ramp_end(ramp: e.Ramp) -> PrimExpr:
    """The first index behind a ramp: base + lanes * stride."""
    add, multiply = OPERATORS["tir"]["add"], OPERATORS["tir"]["multiply"]
    return add(ramp.base, multiply(ramp.lanes, ramp.stride))  # type: ignore[return-value]


def dtype_literal(dtype: DataType) -> LiteralDoc:
    """A data type as a string literal."""
    return LiteralDoc(str(dtype))

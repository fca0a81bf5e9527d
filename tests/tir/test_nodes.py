"""Every expression and statement of the reference exists, with its fields."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.structure.reference import DATA
from tvm import relax, te, tir
from tvm.arith import ConstIntBound, ModularSet
from tvm.ir import FuncType, Op, PrimType, SequentialSpan, SourceName, Span, TupleType, VDevice
from tvm.ir.expr import PrimExpr
from tvm.ir.node import NODE_TYPES
from tvm.relax import dpl
from tvm.relax.distributed import DeviceMesh, Placement

pytestmark = pytest.mark.pure
ROW = re.compile(r"((?:tir|ir)\.\w+) < (\w+): (.*)")
BASES = ("PrimExprNode", "StmtNode", "VarNode", "PrimExprConvertibleNode")


def rows() -> list[tuple[str, str, set[str]]]:
    found = []
    for line in (DATA / "nodes.txt").read_text().splitlines():
        match = ROW.match(line)
        if match is not None:
            names = {part.strip().rstrip("*~") for part in match[3].split(",") if part.strip()}
            found.append((match[1], match[2], names))
    return found


def test_expressions_and_statements_have_their_fields() -> None:
    wanted = [r for r in rows() if r[1] in BASES and r[2]]
    assert len(wanted) >= 34
    for key, _, names in wanted:
        have = {field.name for field in NODE_TYPES.get(key).FIELDS}
        assert names <= have, f"{key}: {names - have}"


def test_every_expression_and_statement_can_be_visited() -> None:
    from tvm.tir.functor import TirFunctor

    for key, _, _ in rows():
        cls = NODE_TYPES.find(key)
        if cls is not None and issubclass(cls, (PrimExpr, tir.Stmt)):
            visited = vars(cls).get("accept")
            assert visited is not None or cls.__name__ in ("PrimExpr", "Stmt"), key
    assert hasattr(TirFunctor, "visit_buffer_store_")


i, A = tir.Var("i", "int32"), tir.decl_buffer((4, 4), name="A")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tir.IntImm("int32", "four"), "IntImm: value is a str: 'four'; legal: int"),
        (lambda: tir.IntImm("int32", None), "IntImm: value is a NoneType: None; legal: int"),
        (lambda: tir.FloatImm("float32", "q"), "FloatImm: value is a str: 'q'; legal: float"),
        (lambda: tir.IterVar((0, 4), "x", "S"), "IterVar: iter_type is a str: 'S'; legal: int"),
        (lambda: tir.BufferLoad(A, None), "BufferLoad: indices are a NoneType; legal: a list"),
        (lambda: tir.BufferStore(A, 1.0, 3), "BufferStore: indices are a int; legal: a list"),
        (lambda: tir.Shuffle(3, [0]), "Shuffle: vectors are a int; legal: a list"),
        (lambda: tir.CommReducer("i", [i], [i], [0]), "CommReducer: lhs are a str; legal: a list"),
        (lambda: tir.CommReducer([1], [i], [i], [0]), "one of CommReducer: lhs is a int: 1"),
        (lambda: tir.PrimFunc(3, tir.Evaluate(0)), "PrimFunc: params are a int; legal: a list"),
        (lambda: tir.IndexMap([3], [i], None), "one of IndexMap: initial_indices is a int: 3"),
        (lambda: tir.IndexMap([i], 3, None), "IndexMap: final_indices are a int; legal: a list"),
        (lambda: TupleType("xy"), "TupleType: fields are a str; legal: a list"),
        (lambda: FuncType([3], PrimType("int32")), "one of FuncType: arg_types is a int: 3"),
        (lambda: SourceName(3), "SourceName: name is a int: 3; legal: str"),
        (lambda: Span(3, 1, 1, 1, 1), "Span: source_name is a int: 3; legal: SourceName"),
        (lambda: SequentialSpan(3), "SequentialSpan: spans are a int; legal: a list"),
        (lambda: VDevice("llvm", [0]), r"VDevice: vdevice_id is a list: \[0\]; legal: int"),
        (lambda: te.placeholder(None), "the extents of a tensor are a NoneType; legal: a list"),
        (lambda: relax.ShapeExpr(3), "ShapeExpr: values are a int; legal: a list"),
        (lambda: relax.ShapeStructInfo(ndim="two"), "ShapeStructInfo: ndim is a str: 'two'"),
        (lambda: relax.TensorStructInfo(ndim=A), "TensorStructInfo: ndim is a Buffer: A"),
        (lambda: relax.Call(Op.get("relax.add"), 3), "Call: args are a int; legal: a list"),
        (lambda: dpl.TuplePattern(3), "TuplePattern: patterns are a int; legal: a list"),
        (lambda: dpl.CallPattern(dpl.wildcard(), 3), "CallPattern: args are a int; legal: a list"),
        (lambda: dpl.PrimArrPattern(3), "the extents of a pattern are a int; legal: a list"),
        (lambda: DeviceMesh("ab", [0]), "DeviceMesh: shape are a str; legal: a list"),
        (lambda: Placement([3]), "one of Placement: dim_specs is a int: 3; legal: PlacementSpec"),
        (lambda: ConstIntBound("low", 3), "ConstIntBound: min_value is a str: 'low'; legal: int"),
        (lambda: ModularSet(None, 0), "ModularSet: coeff is a NoneType: None; legal: int"),
    ],
)
def test_parts_of_another_kind_are_refused_by_name(make: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=f"^{said}"):
        make()

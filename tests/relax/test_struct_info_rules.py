"""Which struct info is more general, what two share, what may be hoisted."""

from __future__ import annotations

import pytest

from tvm import ir, relax, tir
from tvm.relax import analysis
from tvm.relax.analysis import BaseCheckResult as Check
from tvm.relax.analysis import struct_info_base_check, struct_info_lca
from tvm.relax.struct_info_rules import dtype_of, substitute_struct_info

pytestmark = pytest.mark.pure

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")
OBJECT = relax.ObjectStructInfo()
SHAPE = relax.ShapeStructInfo


def tensor(*shape: object, dtype: str = "float32") -> relax.TensorStructInfo:
    return relax.TensorStructInfo(shape, dtype)


def ranked(ndim: int, dtype: str | None = "float32") -> relax.TensorStructInfo:
    return relax.TensorStructInfo(None, dtype, ndim=ndim)


PRIM = relax.PrimStructInfo
TUPLE = relax.TupleStructInfo
FUNC = relax.FuncStructInfo


@pytest.mark.parametrize(
    ("base", "derived", "expected"),
    [
        (OBJECT, tensor(2), Check.PASS),
        (tensor(2), OBJECT, Check.FAIL_L1),
        (tensor(2), PRIM("int64"), Check.FAIL_L0),
        (ranked(-1, None), tensor(2, 3), Check.PASS),
        (ranked(2), tensor(2, 3), Check.PASS),
        (ranked(2), ranked(-1), Check.FAIL_L1),
        (ranked(2), ranked(3), Check.FAIL_L0),
        (tensor(2, 3), ranked(2), Check.FAIL_L2),
        (tensor(2, 3), tensor(2, 3), Check.PASS),
        (tensor(2, 3), tensor(2, 4), Check.FAIL_L0),
        (tensor(N, 3), tensor(N, 3), Check.PASS),
        (tensor(N, 3), tensor(M, 3), Check.FAIL_L2),
        (tensor(N + 1, 3), tensor(N, 3), Check.FAIL_L2),
        (tensor(N * 2 + 2), tensor((N + 1) * 2), Check.PASS),
        (tensor(2), tensor(2, dtype="float16"), Check.FAIL_L0),
        (tensor(2), relax.TensorStructInfo((2,), None), Check.FAIL_L1),
        (SHAPE(), SHAPE([1, 2]), Check.PASS),
        (SHAPE(ndim=2), SHAPE(), Check.FAIL_L1),
        (SHAPE([1, N]), SHAPE(ndim=2), Check.FAIL_L2),
        (SHAPE([1, N]), SHAPE([1, N]), Check.PASS),
        (PRIM("int64"), PRIM(value=N), Check.PASS),
        (PRIM(value=N), PRIM("int64"), Check.FAIL_L2),
        (PRIM("int64"), PRIM("int32"), Check.FAIL_L0),
        (TUPLE([OBJECT, tensor(2)]), TUPLE([tensor(1), tensor(2)]), Check.PASS),
        (TUPLE([tensor(N)]), TUPLE([ranked(1)]), Check.FAIL_L2),
        (TUPLE([OBJECT]), TUPLE([]), Check.FAIL_L0),
        (FUNC([tensor(N)], tensor(N)), FUNC([tensor(M)], tensor(M)), Check.PASS),
        (FUNC([tensor(2)], tensor(2)), FUNC([tensor(2)], tensor(2), False), Check.FAIL_L0),
        (FUNC([tensor(2)], OBJECT), FUNC([OBJECT], OBJECT), Check.FAIL_L2),
        (FUNC([OBJECT], tensor(2)), FUNC([OBJECT], OBJECT), Check.FAIL_L1),
        (FUNC([tensor(2)], OBJECT), FUNC([SHAPE([2])], OBJECT), Check.FAIL_L0),
        (FUNC.opaque_func(ret=OBJECT), FUNC([tensor(2)], tensor(2)), Check.PASS),
        (FUNC([tensor(2)], tensor(2), False), FUNC.opaque_func(ret=OBJECT), Check.FAIL_L2),
    ],
)
def test_base_check(base: ir.StructInfo, derived: ir.StructInfo, expected: Check) -> None:
    assert struct_info_base_check(base, derived) is expected
    assert base.is_base_of(derived) is (expected is Check.PASS)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (tensor(2, 3), tensor(2, 3), tensor(2, 3)),
        (tensor(N, 3), tensor(M, 3), ranked(2)),
        (tensor(2), tensor(2, 3), ranked(-1)),
        (tensor(2), tensor(2, dtype="int32"), relax.TensorStructInfo((2,), None)),
        (tensor(2), SHAPE([1]), OBJECT),
        (SHAPE([1, 2]), SHAPE([1, 3]), SHAPE(ndim=2)),
        (SHAPE([1]), SHAPE([1, 3]), SHAPE()),
        (PRIM(value=N), PRIM(value=M), PRIM("int64")),
        (PRIM("int64"), PRIM("int32"), OBJECT),
        (TUPLE([tensor(2)]), TUPLE([tensor(3)]), TUPLE([ranked(1)])),
        (TUPLE([tensor(2)]), TUPLE([]), OBJECT),
        (FUNC([tensor(2)], tensor(2)), FUNC([tensor(2)], tensor(3)),
         FUNC([tensor(2)], ranked(1))),
        (FUNC([tensor(2)], OBJECT), FUNC([tensor(3)], OBJECT), FUNC([ranked(1)], OBJECT)),
        (FUNC([tensor(2)], OBJECT), FUNC([OBJECT], OBJECT), FUNC([OBJECT], OBJECT)),
        (FUNC([tensor(2)], OBJECT), FUNC([], OBJECT),
         FUNC.opaque_func(ret=OBJECT, purity=True)),
        (ranked(2), ranked(3), ranked(-1)),
        (ranked(2), ranked(-1), ranked(-1)),
    ],
)  # fmt: skip
def test_common(a: ir.StructInfo, b: ir.StructInfo, expected: ir.StructInfo) -> None:
    ir.assert_structural_equal(struct_info_lca(a, b), expected)


def test_erasing_keeps_what_is_known() -> None:
    info = TUPLE([tensor(N, M), SHAPE([M]), PRIM(value=M), tensor(N * 2)])
    found = analysis.erase_to_well_defined(info, {N: tir.const(4, "int64")})
    expected = TUPLE([ranked(2), SHAPE(ndim=1), PRIM("int64"), tensor(8)])
    ir.assert_structural_equal(found, expected)
    assert analysis.erase_to_well_defined(tensor(2)).values[0].value == 2


def test_erasing_replaces_shape_variables() -> None:
    s, u = relax.Var("s", SHAPE(ndim=2)), relax.Var("u", SHAPE(ndim=2))
    info = relax.TensorStructInfo(s, "float32")
    assert analysis.erase_to_well_defined(info, {}, {s: u}).shape is u
    gone = analysis.erase_to_well_defined(info)
    assert gone.shape is None
    assert gone.ndim == 2


def test_symbols() -> None:
    info = TUPLE([tensor(N, M + 1), FUNC([tensor(N)], tensor(N))])
    assert analysis.tir_vars_in_struct_info(info) == [N, M]
    assert analysis.definable_tir_vars_in_struct_info(info) == [N]
    assert analysis.collect_non_negative_expressions(TUPLE([tensor(N, 4), tensor(N)]))[0] is N


def test_substitution_enters_signatures() -> None:
    four = {N: tir.const(4, "int64")}
    assert substitute_struct_info(FUNC([tensor(N)], tensor(N)), four).ret.values[0].value == 4


def test_static_types() -> None:
    info = TUPLE([tensor(2), PRIM("int64"), SHAPE([1]), OBJECT, FUNC([tensor(2)], OBJECT)])
    kinds = analysis.get_static_type(info).fields
    assert [type(kind).__name__ for kind in kinds] == [
        "TensorType", "PrimType", "ShapeType", "ObjectType", "FuncType",
    ]  # fmt: skip
    assert dtype_of(tensor(2)) == "float32"
    assert dtype_of(OBJECT) is None


def test_only_struct_info_is_erased() -> None:
    for given in (3, "a", relax.const(1), None):
        with pytest.raises(TypeError, match="erase_to_well_defined: a struct info"):
            analysis.erase_to_well_defined(given)
    with pytest.raises(TypeError, match="the argument `shape_var_map` is of another kind"):
        analysis.erase_to_well_defined(tensor(2), 3)

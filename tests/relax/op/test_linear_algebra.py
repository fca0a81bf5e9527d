"""Odd cases of products."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tvm
from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import DTypeError, ShapeError, TVMError
from tvm.relax import interp, op
from tvm.runtime.vm import VirtualMachine

pytestmark = pytest.mark.pure

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((N, 4), (4, M), (N, M)),
        ((4,), (4, M), (M,)),
        ((N, 4), (4,), (N,)),
        ((4,), (4,), ()),
        ((N, 1, 2, 4), (3, 4, M), (N, 3, 2, M)),
        ((2, N), (M, 3), (2, 3)),
    ],
)
def test_shapes(a: tuple[object, ...], b: tuple[object, ...], expected: tuple[object, ...]) -> None:
    assert shape_of(op.matmul(var(*a), var(*b))) == expected


def test_message_of_inner_dimensions() -> None:
    bb = relax.BlockBuilder()
    with pytest.raises(ShapeError) as err:
        bb.normalize(op.matmul(var(4, 8), var(7, 3)))
    line = err.traceback[0].lineno + 1
    assert str(err.value) == (
        "relax.matmul: inner dimensions differ\n"
        "  found: x1 (4, 8), x2 (7, 3); 8 is not 7\n"
        f"  where: {__file__}:{line}\n"
        "  legal: the last extent of x1 equal to the last but one of x2"
    )


def test_dtypes() -> None:
    small = op.matmul(var(2, 3, dtype="int8"), var(3, 2, dtype="int8"), "int32")
    assert info(small).dtype == "int32"
    halves = var(2, 3, dtype="float16")
    assert info(op.matmul(halves, var(3, 2), "float32")).dtype == "float32"
    for other in (halves, var(2, 3, dtype="int32")):
        with pytest.raises(DTypeError, match="data types of x1 and x2"):
            info(op.matmul(other, var(3, 2)))


def test_scalars_are_refused_and_unknown_ranks_taken() -> None:
    with pytest.raises(TVMError, match="x1 must have at least one dimension"):
        info(op.matmul(var(), var(2, 2)))
    assert info(op.matmul(var(ndim=3), var(ndim=2))).ndim == 3


def test_linear() -> None:
    assert shape_of(op.linear(var(N, 4), var(3, 4), var(3))) == (N, 3)


@pytest.mark.parametrize(
    ("text", "shapes", "expected"),
    [
        ("ij,jk->ik", [(N, 3), (3, M)], (N, M)),
        ("ij,jk", [(N, 3), (3, M)], (N, M)),
        ("ii->i", [(3, 3)], (3,)),
        ("...ij,...jk->...ik", [(5, 1, N, 3), (2, 3, M)], (5, 2, N, M)),
    ],
)
def test_einsum_shapes(text: str, shapes: list[object], expected: tuple[object, ...]) -> None:
    assert shape_of(op.einsum([var(*s) for s in shapes], text)) == expected


def test_einsum_of_bfloat16() -> None:
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    bb = relax.BlockBuilder()
    operand = var(2, 3, dtype="bfloat16")
    with bb.function("main", [operand]):
        bb.emit_func_output(bb.emit(op.einsum([operand, operand], "ij,kj->ik")))
    found = interp.run(bb.get(), x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.astype("float32"), [[5, 14], [14, 50]])


def test_einsum_refusals() -> None:
    with pytest.raises(TVMError, match="the subscripts do not fit the operands"):
        info(op.einsum([var(2, 3)], "ij,jk->ik"))
    with pytest.raises(TVMError, match="the extents of label 'j' differ"):
        info(op.einsum([var(2, 3), var(4, 5)], "ij,jk->ik"))
    with pytest.raises(TVMError, match="does not fit its operand"):
        info(op.einsum([var(2, 3)], "ijk->i"))


def test_outer_takes_vectors() -> None:
    with pytest.raises(TVMError, match=r"relax\.outer: x1 must have 1 dimensions"):
        info(op.outer(var(2, 3), var(2)))


@pytest.mark.cpu
def test_bfloat16_is_summed_in_float32() -> None:
    """A sum of 512 ones is 512; sums kept in bfloat16 would stay at 256."""
    ones = np.ones((4, 512), ml_dtypes.bfloat16)
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4, 512), "bfloat16"))
    with bb.function("main", [x]):
        y = bb.emit(op.matmul(x, relax.const(ones.T, "bfloat16")))
        bb.emit_func_output(y)
    vm = VirtualMachine(tvm.compile(bb.get(), "llvm -mcpu=x86-64-v2"), tvm.cpu())
    found = vm["main"](tvm.runtime.tensor(ones))
    assert found.dtype == "bfloat16"
    assert (found.numpy().astype("float32") == 512).all()


def test_einsum_of_operands_of_unknown_rank() -> None:
    unknown = relax.Var("x", relax.TensorStructInfo(dtype="float32"))
    found = info(op.einsum([unknown, var(3, 4)], "ij,jk->ik"))
    assert (found.ndim, found.dtype) == (-1, "float32")

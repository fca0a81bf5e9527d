"""GroupReshapes: reshapes of open sizes divide by no symbol where extents fall into groups."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax, te, tir, topi
from tvm.relax import op
from tvm.relax.transform import AnnotateTIROpPattern
from tvm.relax.transform.group_reshapes import GroupReshapes
from tvm.tir.expr import FloorDiv, FloorMod, IntImm, SizeVar
from tvm.tir.functor import substitute, walk

pytestmark = pytest.mark.cpu

N, H, W = (SizeVar(name, "int64") for name in "nhw")


def reshape(source: list[object], target: list[object]) -> tvm.IRModule:
    a = te.placeholder(source, name="A")
    return tvm.IRModule({"main": te.create_prim_func(
        [a, topi.reshape(a, target)], index_dtype_override="int64")})


def symbols_divide(func: tir.PrimFunc) -> bool:
    return any(
        isinstance(node, FloorDiv | FloorMod) and not isinstance(node.b, IntImm)
        for node in walk(func.body)
    )


def numbers(shape: list[object]) -> list[int]:
    sizes = {var: tir.const(size, "int64") for var, size in ((N, 2), (H, 8), (W, 3))}
    extents = [substitute(tir.const(1, "int64") * extent, sizes) for extent in shape]
    return [int(tvm.arith.Analyzer().simplify(extent)) for extent in extents]


@pytest.mark.parametrize(
    ("source", "target", "merges"),
    [
        ([N, 16, H, W], [N, 2, 2, 4, H, W], False),
        ([N, 4, H, 2, W, 2], [N, 4, H * 2, W * 2], False),
        ([N, H * 4, W], [N, H, 4, W], False),
        ([N, 1, 1, W, 8], [N, 1, W * 8], False),
        ([N, H, 1, W, 1], [N * H, W], True),
    ],
)
def test_groups_are_indexed_apart(
    source: list[object], target: list[object], merges: bool
) -> None:
    """Where rows of rows are one, each is told by its number."""
    after = GroupReshapes()(reshape(source, target))
    assert symbols_divide(after["main"]) is merges
    pattern = int(AnnotateTIROpPattern()(after)["main"].attrs["op_pattern"])
    assert merges or pattern <= 2  # elements are moved, which fusion can see
    data = np.arange(np.prod(numbers(source)), dtype="float32").reshape(numbers(source))
    made = tvm.runtime.empty(numbers(target))
    tvm.compile(after, "llvm")["main"](tvm.runtime.tensor(data), made)
    np.testing.assert_array_equal(made.numpy(), data.reshape(made.shape))


@pytest.mark.parametrize(
    ("source", "target"),
    [([N, H], [N * 2, H]), ([N, 4], [N * 4 + 1]), ([2, 8], [4, 4])],
)
def test_others_stay(source: list[object], target: list[object]) -> None:
    """Repetitions have the form, and no groups; of unequal extents nothing is known."""
    before = reshape(source, target)
    assert GroupReshapes()(before)["main"] is before["main"]


def test_a_copy_that_is_no_reshape_stays() -> None:
    a = te.placeholder((N, H, 4), name="A")
    other = te.compute((N, H * 4), lambda i, j: a[i, (j // 4 + 1) % H, j % 4])
    before = tvm.IRModule({"main": te.create_prim_func([a, other], index_dtype_override="int64")})
    assert GroupReshapes()(before)["main"] is before["main"]


@pytest.mark.parametrize("mcpu", ["x86-64-v2", "haswell", "skylake-avx512"])
def test_depth_to_space(mcpu: str) -> None:
    n, h, w = (tir.Var(name, "int64") for name in "nhw")
    x = relax.Var("x", relax.TensorStructInfo([n, 8, h, w], "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(op.reshape(x, (n, 2, 2, 2, h, w)))
            lv = bb.emit(op.permute_dims(lv, [0, 3, 4, 1, 5, 2]))
            gv = bb.emit_output(op.reshape(lv, (n, 2, h * 2, w * 2)))
        bb.emit_func_output(gv)
    target = tvm.target.Target(f"llvm -mcpu={mcpu}")
    main = relax.VirtualMachine(tvm.compile(bb.get(), target), tvm.cpu())["main"]
    for shape in ((1, 8, 3, 5), (2, 8, 7, 1), (3, 8, 0, 4)):
        data = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        a, _, b, c = shape
        wanted = data.reshape(a, 2, 2, 2, b, c).transpose(0, 3, 4, 1, 5, 2)
        np.testing.assert_array_equal(main(data).numpy(), wanted.reshape(a, 2, b * 2, c * 2))

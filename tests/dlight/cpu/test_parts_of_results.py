"""Parts of a result: what reads less than a kernel makes stores no more, at open sizes too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op
from tvm.relax.expr import Expr, Var
from tvm.tir import Var as TirVar

pytestmark = pytest.mark.cpu


def weights(*shape: int) -> Expr:
    """The same numbers each time."""
    return relax.const(np.random.default_rng(3).standard_normal(shape).astype("float32"))


KERNELS: dict[str, Callable[[Expr], Expr]] = {
    "winograd": lambda x: op.nn.conv2d(x, weights(12, 12, 3, 3), padding=1),
    "dilated": lambda x: op.nn.conv2d(
        x, weights(12, 12, 7, 3), padding=[6, 1, 6, 1], dilation=[2, 1]
    ),
    "step": lambda x: op.nn.conv2d(x, weights(12, 12, 3, 3), strides=2, padding=1),
    "1x1": lambda x: op.nn.conv2d(x, weights(12, 12, 1, 1)),
    "each channel": lambda x: op.nn.conv2d(x, weights(12, 1, 3, 3), padding=1, groups=12),
    "transposed": lambda x: op.nn.conv2d_transpose(x, weights(12, 12, 2, 2), strides=2),
    "max": lambda x: op.nn.max_pool2d(x, (3, 3), (1, 1), (1, 1)),
    "mean": lambda x: op.nn.avg_pool2d(x, (2, 2), (2, 2)),
    "matmul": lambda x: op.matmul(x, op.permute_dims(x, [0, 1, 3, 2])),
    "sum": lambda x: op.sum(x, axis=1, keepdims=True),
    "softmax": lambda x: op.nn.softmax(x, axis=1),
}
# axes, begin, end, step
SLICES = {
    "first rows": ([2], [0], [6], [1]), "last rows": ([2], [3], [1 << 40], [1]),
    "columns": ([3], [1], [5], [1]), "channels": ([1], [0], [5], [1]),
    "every other": ([2, 3], [1, 0], [8, 7], [2, 3]),
}  # fmt: skip
SHAPES = {"open width": (1, 12, 16, "w"), "open": ("n", 12, "h", "w"), "known": (1, 12, 16, 18)}


def module(shape: tuple[int | str, ...], kernel: str, part: str | None) -> tvm.IRModule:
    extents = [TirVar(e, "int64") if isinstance(e, str) else e for e in shape]
    x = Var("x", relax.TensorStructInfo(extents, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.nn.relu(bb.emit(op.add(bb.emit(KERNELS[kernel](x)), weights(1)))))
            if part is not None:
                y = bb.emit(op.strided_slice(y, *SLICES[part]))
            y = bb.emit_output(y)
        bb.emit_func_output(y)
    return bb.get()


def run(mod: tvm.IRModule, x: np.ndarray) -> np.ndarray:
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm -num-cores=2"), tvm.cpu())
    found: np.ndarray = vm["main"](tvm.runtime.tensor(x)).numpy()
    return found


def check(kernel: str, shape: str, parts: Sequence[str]) -> None:
    x = np.random.default_rng(4).standard_normal((1, 12, 16, 18)).astype("float32")
    whole = run(module(SHAPES[shape], kernel, None), x)
    for part in parts:
        axes, begin, end, step = SLICES[part]
        at = [slice(None)] * 4
        for axis, b, e, s in zip(axes, begin, end, step):
            at[axis] = slice(b, e, s)
        found = run(module(SHAPES[shape], kernel, part), x)
        np.testing.assert_allclose(found, whole[tuple(at)], rtol=1e-4, atol=1e-5, err_msg=part)


@pytest.mark.parametrize("kernel", ["winograd", "dilated", "each channel", "max", "matmul", "sum"])
def test_first_rows(kernel: str) -> None:
    check(kernel, "open width", ["first rows"])


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_parts(kernel: str, shape: str) -> None:
    check(kernel, shape, [*SLICES])

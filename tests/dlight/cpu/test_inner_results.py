"""What a kernel takes along is written all the same where the caller asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import dlight, te, tir, topi
from tvm.target import Target

pytestmark = pytest.mark.cpu
SIZES = {"b": 2, "h": 11, "w": 13}


def weight(*shape: int) -> te.Tensor:
    return te.placeholder(shape, name="W")


KERNELS: dict[str, Callable[[te.Tensor], te.Tensor]] = {
    "largest": lambda x: topi.nn.pool2d(x, [2, 1], [1, 3], [1, 1], [1, 0, 1, 0], "max"),
    "depthwise": lambda x: topi.nn.depthwise_conv2d_nchw(x, weight(16, 1, 3, 3), 1, 1, 1),
    "halved": lambda x: topi.nn.conv2d_nchw(x, weight(24, 16, 3, 3), 2, 1, 1),
    "1x1": lambda x: topi.nn.conv2d_nchw(x, weight(32, 16, 1, 1), 1, 0, 1),
    "grouped": lambda x: topi.nn.group_conv2d_nchw(x, weight(16, 8, 3, 3), 1, 1, 1, 2),
}


def inner_results(last: te.Tensor) -> list[te.Tensor]:
    """All that is computed on the way to a tensor, and the tensor."""
    found: list[te.Tensor] = []
    waiting = [last]
    while waiting:
        tensor = waiting.pop()
        if tensor not in found and isinstance(tensor.op, te.ComputeOp):
            found.append(tensor)
            waiting += tensor.op.input_tensors
    return found


def known(shape: Any) -> tuple[int, ...]:
    """A shape of the sizes, in which variables are called so."""
    names = {v.name: v for n in shape for v in tir.analysis.undefined_vars(tir.Evaluate(n))}
    values = {var: tir.const(SIZES[name], "int64") for name, var in names.items()}
    simplify = tvm.arith.Analyzer().simplify
    return tuple(int(simplify(tir.stmt_functor.substitute(n, values))) for n in shape)


@pytest.mark.parametrize("cpu", ["haswell", "znver4"])
@pytest.mark.parametrize("form", ["known", "open"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.covering(2)
def test_inner_results_that_are_results(name: str, form: str, cpu: str) -> None:
    sizes = [te.size_var(n, "int64") if form == "open" else value for n, value in SIZES.items()]
    x = te.placeholder((sizes[0], 16, *sizes[1:]), name="X")
    made = KERNELS[name](x)
    outs = inner_results(topi.nn.relu(topi.add(made, te.compute(made.shape, lambda *_: 0.5))))
    given = [x, *(t for t in made.op.input_tensors if t.op.name == "W")]
    func = te.create_prim_func([*given, *outs])
    with Target(f"llvm -mcpu={cpu} -num-cores=2"):
        rules = dlight.cpu.default_rules()
        mod = dlight.ApplyDefaultSchedule(*rules)(tvm.IRModule({"main": func}))
    mod["main"] = mod["main"].without_attr("target")
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(known(t.shape)).astype("float32") for t in given]
    found = []
    for each in (mod, tvm.IRModule({"main": func})):
        results = [tvm.runtime.tensor(np.full(known(t.shape), 7, t.dtype)) for t in outs]
        tvm.compile(each, "llvm")["main"](*map(tvm.runtime.tensor, arrays), *results)
        found.append([result.numpy() for result in results])
    for out, have, want in zip(outs, *found, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4, err_msg=out.op.name)

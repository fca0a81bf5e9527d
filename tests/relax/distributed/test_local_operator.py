"""Operators on pieces: the numbers of the whole, or a refusal."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.distributed import DeviceMesh, DTensorStructInfo, Placement
from tvm.relax.distributed.transform import LowerDistIR
from tvm.relax.interp import Interpreter

from .transform.workers import run_workers

pytestmark = pytest.mark.pure

op = relax.op
MESH = DeviceMesh((2,), [0, 1])
CASES: dict[str, tuple[Callable[..., relax.Call], list[tuple[int, ...]], int]] = {
    # the call, shapes of operands, how many placements of operands and result are possible
    "matmul": (op.matmul, [(4, 8), (8, 6)], 4),
    "batch matmul": (op.matmul, [(2, 4, 8), (2, 8, 6)], 5),
    "stretched matmul": (op.matmul, [(2, 4, 8), (8, 6)], 5),
    "vector matmul": (op.matmul, [(8,), (8, 6)], 3),
    "dot": (op.matmul, [(8,), (8,)], 2),
    "add": (op.add, [(4, 6), (4, 6)], 3),
    "stretched add": (op.add, [(4, 6), (6,)], 3),
    "add of a row": (op.add, [(4, 6), (1, 6)], 3),
    "where": (lambda c, x: op.where(op.greater(c, c), x, x), [(4, 6), (4, 6)], 3),
    "relu": (op.nn.relu, [(4, 6)], 3),
    "softmax": (lambda x: op.nn.softmax(x, axis=-1), [(4, 6)], 2),
    "layer norm": (lambda x, g: op.nn.layer_norm(x, g, g, axes=[-1]), [(4, 6), (6,)], 2),
    "prelu": (lambda x, a: op.nn.prelu(x, a, axis=1), [(2, 4, 4), (4,)], 4),
    "sum": (lambda x: op.sum(x, axis=1), [(4, 6)], 3),
    "mean": (lambda x: op.mean(x, axis=0, keepdims=True), [(4, 6)], 3),
    "max": (lambda x: op.max(x), [(4, 6)], 3),
    "std": (lambda x: op.std(x, axis=0), [(4, 6)], 2),
    "transpose": (lambda x: op.permute_dims(x, [1, 2, 0]), [(2, 4, 6)], 4),
    "reshape": (lambda x: op.reshape(x, (8, 3)), [(2, 4, 3)], 2),
    "split": (lambda x: op.reshape(x, (2, 4, 3)), [(8, 3)], 2),
    "broadcast": (lambda x: op.broadcast_to(x, (4, 4, 6)), [(4, 6)], 3),
    "concat": (lambda x, y: op.concat([x, y], axis=0), [(4, 6), (4, 6)], 1),
    "flip": (lambda x: op.flip(x, axis=0), [(4, 6)], 1),
    "cumsum": (lambda x: op.cumsum(x, axis=0), [(4, 6)], 1),
    "take": (lambda x: op.strided_slice(x, [0], [1], [3]), [(4, 6)], 1),
    "shape": (lambda x: op.zeros_like(x), [(4, 6)], 1),
}  # fmt: skip


def placed(info: Any, placement: str) -> DTensorStructInfo:
    return DTensorStructInfo(info, MESH, Placement.from_text(placement))


def places(ndim: int) -> list[str]:
    return ["R", *(f"S[{axis}]" for axis in range(ndim))]


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_the_whole_or_a_refusal(name: str) -> None:
    make, shapes, possible = CASES[name]
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, shape).astype("float32") for shape in shapes]
    plain = [relax.Var(f"p{i}", relax.TensorStructInfo(s, "float32")) for i, s in enumerate(shapes)]
    whole = whole_function(make, plain)
    expected = Interpreter(IRModule({"main": whole})).run("main", *inputs)
    result = whole.ret_struct_info
    taken = 0
    for placement in itertools.product(*(places(len(s)) for s in shapes), places(expected.ndim)):
        func = spread_function(make, placement, shapes, result)
        try:
            after = LowerDistIR()(IRModule({"main": func}))["main"]
        except TVMError:
            continue
        taken += 1
        outs = run_workers(after, inputs, 2)
        axis = None if placement[-1] == "R" else int(placement[-1][2])
        wanted = [expected] * 2 if axis is None else np.split(expected, 2, axis=axis)
        for out, one in zip(outs, wanted, strict=True):
            np.testing.assert_allclose(out, one, rtol=1e-4, atol=1e-5, err_msg=str(placement))
    assert taken == possible


def whole_function(make: Callable[..., relax.Call], params: list[relax.Var]) -> relax.Function:
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(make(*params)))
    return bb.get()["main"]


def spread_function(
    make: Callable[..., relax.Call], placement: tuple[str, ...], shapes: Any, result: Any
) -> relax.Function:
    """The function with every operand and the result where the placement says."""
    params = [
        relax.Var(f"p{i}", placed(relax.TensorStructInfo(shape, "float32"), placement[i]))
        for i, shape in enumerate(shapes)
    ]
    func = whole_function(make, params)
    last = func.body.blocks[0].bindings[-1]
    out = relax.Var("out", placed(result, placement[-1]))
    bindings = [*func.body.blocks[0].bindings[:-1], relax.VarBinding(out, last.value)]
    body = relax.SeqExpr([relax.BindingBlock(bindings)], out)
    return relax.Function(params, body, out.struct_info)

"""Random graphs of all operators that have a case; the same for the same seed.

Operands come from what was computed before, brought into the shape and the range that the case
asks for. Where a small difference of an operand may change the result by a step (floor, sort, a
comparison), operands are inputs of the graph, so that interpreter and kernel see the same ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tests.relax.op.cases import CASES, SYMBOLS, Case, Tensor
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo

# Their results jump, or pick by comparing.
STEPS = frozenset(
    (
        "ceil", "floor", "round", "trunc", "sign", "equal", "not_equal", "less", "less_equal",
        "greater", "greater_equal", "floor_divide", "mod", "floor_mod", "argmax", "argmin", "sort",
        "argsort", "topk", "bucketize", "astype", "isfinite", "isinf", "isnan", "quantize",
        "multinomial_from_uniform", "grad.max_pool2d_backward", "logical_not", "cumprod", "prod",
        "nn.pad", "one_hot", "wrap_param",
    )
)  # fmt: skip

# These divide by a deviation. Of nearly equal elements it is all rounding, however it is found:
# their operands get a ramp, so that elements differ.
NORMS = frozenset(("nn.layer_norm", "nn.group_norm", "nn.instance_norm", "nn.batch_norm", "std"))


def _usable(case: Case) -> bool:
    kinds = {tensor.dtype for tensor in case.tensors}
    return bool(case.tensors) and not kinds & {"float16", "bfloat16"} and "float16" not in str(case)


USABLE = [case for case in CASES if _usable(case)]


class Graph(NamedTuple):
    """A module with a function `main`, and inputs for it."""

    module: IRModule
    arrays: list[Any]
    ops: list[str]


class _Builder:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.bb = relax.BlockBuilder()
        self.params: list[relax.Var] = []
        self.arrays: list[Any] = []
        self.values: list[relax.Expr] = []

    def input(self, tensor: Tensor) -> relax.Var:
        shape = [SYMBOLS[e] if isinstance(e, str) else e for e in tensor.shape]
        info = TensorStructInfo(shape, tensor.dtype)
        self.params.append(relax.Var(f"x{len(self.params)}", info))
        self.arrays.append(tensor.array(self.rng))
        return self.params[-1]

    def operand(self, case: Case, tensor: Tensor) -> relax.Expr:
        """An input, or an earlier value in the shape and range of the operand."""
        fresh = case.op in STEPS or tensor.dtype != "float32" or not self.values
        if fresh or self.rng.random() < 0.2:
            return self.input(tensor)
        value = self.values[-1 - int(self.rng.integers(len(self.values)) * self.rng.random())]
        shape = [SYMBOLS[e] if isinstance(e, str) else e for e in tensor.shape]
        need, have = int(np.prod(shape)), int(np.prod(self.shape(value)))
        flat = self.bb.emit(op.reshape(value, [have]))
        if have < need:
            flat = self.bb.emit(op.tile(flat, [-(-need // have)]))
        if int(np.prod(self.shape(flat))) != need:
            flat = self.bb.emit(op.strided_slice(flat, [0], [0], [need]))
        whole = self.bb.emit(op.reshape(flat, shape))
        span = relax.const(np.float32(tensor.high - tensor.low))
        scaled = self.bb.emit(op.multiply(self.bb.emit(op.sigmoid(whole)), span))
        moved = self.bb.emit(op.add(scaled, relax.const(np.float32(tensor.low))))
        if case.op not in NORMS:
            return moved
        ramp = np.linspace(0, 2, need, dtype="float32").reshape(shape)
        return self.bb.emit(op.add(moved, relax.const(ramp)))

    def shape(self, value: relax.Expr) -> list[int]:
        return [int(extent) for extent in value.struct_info.values]

    def keep(self, value: relax.Expr) -> None:
        """Later operators may read what is a float tensor of known shape with elements."""
        info = value.struct_info
        if isinstance(info, TupleStructInfo):
            for i in range(len(info.fields)):
                self.keep(self.bb.emit(value[i]))
            return
        known = isinstance(info, TensorStructInfo) and info.values is not None
        if known and info.dtype == "float32" and 0 not in self.shape(value):
            self.values.append(value)


def random_graph(seed: int, shortest: int = 5, longest: int = 50) -> Graph:
    """A graph of so many operators, beside those that bring operands into shape."""
    rng = np.random.default_rng(seed)
    made = _Builder(rng)
    names: list[str] = []
    with made.bb.function("main"):
        with made.bb.dataflow():
            for _ in range(int(rng.integers(shortest, longest + 1))):
                case = USABLE[int(rng.integers(len(USABLE)))]
                operands = [made.operand(case, tensor) for tensor in case.tensors]
                result = made.bb.emit(case.build(*operands))
                made.keep(result)
                names.append(case.op)
            chosen = [result, *made.values[-3:]]
            fields = [made.bb.emit_output(value) for value in chosen]
        made.bb.emit_func_output(relax.Tuple(fields), made.params)
    return Graph(made.bb.get(), made.arrays, names)

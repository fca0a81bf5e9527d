"""What a program says to the machine that runs it: shapes, calls of kernels, other views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.type import TupleType
from tvm.relay.expr import Call
from tvm.relay.op.declare import OPAQUE, REQUIRED, Expr, Relate, relay_op
from tvm.relay.op.kernel import not_compiled
from tvm.relay.op.relations import tensor
from tvm.relay.op.tensor import shape_of as _graph_shape_of
from tvm.relay.ty import TensorType


def _shape_of_type(ctx: Relate) -> TensorType | None:
    x = tensor(ctx, 0)
    return None if x is None else TensorType((len(x.shape),), ctx.attrs.dtype)


@relay_op("vm.shape_of", "ShapeOfAttrs", operands=("data",), relation=_shape_of_type,
          pattern=OPAQUE, hidden=("dtype",), optional={"dtype": ""},
          lower=lambda bb, x, *, dtype: _graph_shape_of.op.get_attr("FRelayLower")(
              bb, x, dtype=dtype))  # fmt: skip
def _shape_of(data: Expr, dtype: str) -> Call:
    """The extents of a tensor, as a vector."""
    return _shape_of.call(data, dtype=dtype)


def shape_of(expr: Expr) -> Call:
    """The extents of a tensor: a vector of int64."""
    made: Call = _shape_of(expr, "int64")
    return made


@relay_op("vm.invoke_tvm_op", operands=("func", "inputs", "outputs"),
          relation=lambda ctx: TupleType(()), pattern=OPAQUE, lower=not_compiled)  # fmt: skip
def invoke_tvm_op(func: Expr, inputs: Expr, outputs: Expr) -> Call:
    """The kernels of a primitive function, run on a tuple of inputs into a tuple of outputs."""
    return invoke_tvm_op.call(func, inputs, outputs)


@relay_op("vm.shape_func", "ShapeFuncAttrs", operands=("func", "inputs", "outputs"),
          relation=lambda ctx: TupleType(()), pattern=OPAQUE, hidden=("is_inputs",),
          optional={"is_input": REQUIRED}, lower=not_compiled)  # fmt: skip
def shape_func(func: Expr, inputs: Expr, outputs: Expr, is_inputs: Sequence[Any]) -> Call:
    """The extents of a primitive function's results; `is_inputs` says where shapes do not do."""
    return shape_func.call(func, inputs, outputs, is_input=[int(x) for x in is_inputs])


def _reshape_type(ctx: Relate) -> TensorType | None:
    x = tensor(ctx, 0)
    return None if x is None else TensorType(ctx.attrs.newshape, x.dtype)


@relay_op("vm.reshape_tensor", "ReshapeTensorAttrs", operands=("data", "shape"),
          relation=_reshape_type, pattern=OPAQUE, lower=not_compiled)  # fmt: skip
def reshape_tensor(data: Expr, shape: Expr, newshape: Any) -> Call:
    """The tensor's memory under other extents: `shape` when it runs, `newshape` in the type."""
    return reshape_tensor.call(data, shape, newshape=tuple(newshape))

"""Operators whose shape is a value of the program."""

from __future__ import annotations

from typing import Any

from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relax.expr import Constant as RelaxConstant
from tvm.relay.expr import Constant
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType

from .declare import ATTRS_CLASSES, INJECTIVE, Relate, declare_op
from .relations import extents, tensor
from .reshapes import reshape_extents
from .transform import _lower_dims


def _dyn_reshape_type(ctx: Relate) -> Type | None:
    x, shape = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or shape is None:
        return None
    wanted = ctx.args[1]
    if isinstance(wanted, Constant):
        codes = [int(v) for v in wanted.data.numpy()]
        return TensorType(reshape_extents(extents(x), codes, fail=ctx.fail), x.dtype)
    return TensorType([AnyDim() for _ in range(int(extents(shape)[0]))], x.dtype)


def _dyn_reshape(bb: Any, x: Any, shape: Any, **_: Any) -> Any:
    known = shape
    while known is not None and not isinstance(known, RelaxConstant):
        known = bb.lookup_binding(known)
    if known is not None:
        codes = [int(v) for v in known.data.numpy()]
        return R.reshape(x, reshape_extents(_lower_dims(x), codes))
    wide = bb.emit(R.astype(shape, "int64"))
    return R.reshape(x, bb.emit(R.tensor_to_shape(wide)))


declare_op(
    "dyn.reshape", 2, ATTRS_CLASSES["ReshapeAttrs"], _dyn_reshape, _dyn_reshape_type, INJECTIVE, 3
)

"""Operators whose shape is a value of the program.

    tile(%x, reps=[2, 3])        is        dyn.tile(%x, %reps)        for a %reps of the program

They have the type of what is known: the number of dimensions. Where their numbers are constants
they are the plain operators (`FRelayStatic`), which is how `DynamicToStatic` and the interpreter
know them; reshapes have kernels of their own too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.type import TupleType, Type
from tvm.relax import op as R
from tvm.relax.expr import Constant as RelaxConstant
from tvm.relax.expr import Var as RelaxVar
from tvm.relay.expr import Call, Constant
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType

from . import algorithm, image, nn, transform
from . import tensor as tensor_ops
from .declare import ATTRS_CLASSES, INJECTIVE, OPAQUE, REQUIRED, Relate, attrs_class, declare_op
from .kernel import call_with_numbers
from .relations import extents, tensor
from .reshapes import reshape_extents
from .transform import _lower_dims

Static = Callable[[Any, Sequence[Any]], Any]


def static_form(call: Call, args: Sequence[RelaxExpr]) -> Any:
    """The plain operator for a call whose numbers are constants among `args`; None if not."""
    rule = call.op.get_attr("FRelayStatic")  # type: ignore[attr-defined]
    if rule is None:
        return None
    numbers = call.op.get_attr("FRelayNumbers")  # type: ignore[attr-defined]
    if not all(isinstance(args[at], Constant) for at in numbers):
        return None
    made = rule(call.attrs, args)
    return made.astuple() if hasattr(made, "astuple") else made


def _unknown(rank: int, dtype: Any) -> TensorType:
    return TensorType([AnyDim() for _ in range(rank)], dtype)


def _length(ctx: Relate, at: int) -> int | None:
    """How many numbers an operand has."""
    found = tensor(ctx, at)
    if found is None:
        return None
    dims = extents(found)
    if not dims:
        return 1
    if not isinstance(dims[0], int):
        raise ctx.fail(f"operand {at} has an unknown length", "a vector of known length")
    return dims[0]


def _dyn_reshape_type(ctx: Relate) -> Type | None:
    x, shape = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or shape is None:
        return None
    wanted = ctx.args[1]
    if isinstance(wanted, Constant):
        codes = [int(v) for v in wanted.data.numpy()]
        return TensorType(reshape_extents(extents(x), codes, fail=ctx.fail), x.dtype)
    return _unknown(int(extents(shape)[0]), x.dtype)


def _dyn_reshape(bb: Any, x: Any, shape: Any, **_: Any) -> Any:
    from tvm.relay.to_relax_types import NotFirstOrder

    known = shape
    while isinstance(known, RelaxVar):
        known = bb.lookup_binding(known)
    if not isinstance(known, RelaxConstant):  # it may hold codes such as -1
        raise NotFirstOrder("dyn.reshape: the shape is a value of the program")
    codes = [int(v) for v in known.data.numpy()]
    return R.reshape(x, reshape_extents(_lower_dims(x), codes))


def _like_shape(at: int, dtype_of: int | None) -> Callable[[Relate], Type | None]:
    """A tensor of as many dimensions as an operand has numbers."""

    def rule(ctx: Relate) -> Type | None:
        count = _length(ctx, at)
        found = None if dtype_of is None else tensor(ctx, dtype_of)
        if count is None or (dtype_of is not None and found is None):
            return None
        dtype = getattr(ctx.attrs, "dtype", "") if ctx.attrs is not None else ""
        return _unknown(count, dtype or (found.dtype if found is not None else "float32"))

    return rule


def _tile_type(ctx: Relate) -> Type | None:
    x, count = tensor(ctx, 0), _length(ctx, 1)
    if x is None or count is None:
        return None
    return _unknown(max(len(x.shape), count), x.dtype)


def _same_rank(more: int = 0) -> Callable[[Relate], Type | None]:
    def rule(ctx: Relate) -> Type | None:
        x = tensor(ctx, 0)
        return None if x is None else _unknown(len(x.shape) + more, x.dtype)

    return rule


def _one_hot_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    axis = int(ctx.attrs.axis)
    dims.insert(len(dims) if axis == -1 else axis, AnyDim())
    return TensorType(dims, ctx.attrs.dtype)


def _topk_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims, o = extents(x), ctx.attrs
    dims[int(o.axis)] = AnyDim()
    values, indices = TensorType(dims, x.dtype), TensorType(dims, o.dtype)
    if o.ret_type == "both":
        return TupleType([values, indices])
    return values if o.ret_type == "values" else indices


def _expand_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    return _unknown(len(x.shape) + int(ctx.attrs.num_newaxis), x.dtype)


def _squeeze_type(ctx: Relate) -> Type | None:
    x, count = tensor(ctx, 0), _length(ctx, 1)
    return None if x is None or count is None else _unknown(len(x.shape) - count, x.dtype)


def _resize_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    for letter in "HW":
        dims[ctx.attrs.layout.index(letter)] = AnyDim()
    return TensorType(dims, ctx.attrs.out_dtype or x.dtype)


def _scaled_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    for letter in "DHW":
        if letter in ctx.attrs.layout:
            dims[ctx.attrs.layout.index(letter)] = AnyDim()
    return TensorType(dims, x.dtype)


def _of_numbers(relation: Any, numbers: Sequence[int], rank: int, single: bool) -> Any:
    """The relation, which refuses numbers of more axes than `rank`, or more than one of them."""

    def rule(ctx: Relate) -> Type | None:
        for at in numbers:
            found = tensor(ctx, at)
            dims = [] if found is None else extents(found)
            if len(dims) > rank:
                raise ctx.fail(f"operand {at} has {len(dims)} dimensions", f"at most {rank}")
            known = [dim for dim in dims if isinstance(dim, int)]
            if single and prod(known) != 1:
                raise ctx.fail(f"operand {at} has {prod(known)} elements", "1")
        made: Type | None = relation(ctx)
        return made

    return rule


def _declare(
    name: str, operands: int, numbers: Sequence[int], relation: Any, static: Static,
    attrs: str | None = None, lower: Any = None, pattern: int = OPAQUE, *, rank: int = 1,
    single: bool = False,
) -> None:  # fmt: skip
    """An operator whose operands at `numbers` say a shape, and its form when they are known."""
    op = declare_op(
        name, operands, None if attrs is None else ATTRS_CLASSES[attrs], lower,
        _of_numbers(relation, numbers, rank, single), pattern, 3,
    )  # fmt: skip
    op.set_attr("FRelayNumbers", tuple(numbers))
    op.set_attr("FRelayStatic", static)


def _number(value: Any) -> Any:
    return value.data.numpy().item()


def _options(o: Any, *without: str) -> dict[str, Any]:
    return {key: value for key, value in o.items() if key not in without}


def _static_slice(o: Any, args: Sequence[Any]) -> Any:
    data, begin, end, strides = args
    return transform.strided_slice(data, begin, end, strides, o.axes, o.slice_mode)


def _static_pad(o: Any, args: Sequence[Any]) -> Any:
    widths = args[1].data.numpy().reshape(-1, 2).tolist()
    return nn.pad(args[0], widths, args[2], o.pad_mode)


def _static_resize(o: Any, args: Sequence[Any]) -> Any:
    size = [int(v) for v in args[1].data.numpy()]
    return image.resize2d(args[0], size, args[2], **_options(o, "size", "roi"))


def _static_expand(o: Any, args: Sequence[Any]) -> Any:
    return transform.expand_dims(args[0], int(_number(args[1])), o.num_newaxis)


attrs_class("DynCallTIRAttrs", {"func": REQUIRED, "result": REQUIRED})
_declare("dyn.call_tir", 2, [1], lambda ctx: ctx.attrs.result,
         lambda o, a: call_with_numbers(o.func, a[0], a[1].data.numpy().tolist(), o.result),
         "DynCallTIRAttrs")  # fmt: skip
attrs_class("DynExpandDimsAttrs", {"num_newaxis": 1})
_declare("dyn.reshape", 2, [1], _dyn_reshape_type,
         lambda o, a: transform.reshape(a[0], a[1], o.allowzero), "ReshapeAttrs", _dyn_reshape,
         INJECTIVE)  # fmt: skip
_declare("dyn.tile", 2, [1], _tile_type, lambda o, a: transform.tile(a[0], a[1]), "TileAttrs")
_declare("dyn.broadcast_to", 2, [1], _like_shape(1, 0),
         lambda o, a: transform.broadcast_to(a[0], a[1]), "InitOpAttrs")  # fmt: skip
_declare("dyn.zeros", 1, [0], _like_shape(0, None),
         lambda o, a: tensor_ops.zeros(a[0], o.dtype), "InitOpAttrs")  # fmt: skip
_declare("dyn.ones", 1, [0], _like_shape(0, None),
         lambda o, a: tensor_ops.ones(a[0], o.dtype), "InitOpAttrs")  # fmt: skip
_declare("dyn.full", 2, [1], _like_shape(1, 0),
         lambda o, a: transform.full(a[0], a[1], o.dtype), "InitOpAttrs")  # fmt: skip
_declare("dyn.one_hot", 4, [3], _one_hot_type,
         lambda o, a: transform.one_hot(a[0], a[1], a[2], int(_number(a[3])), o.axis, o.dtype),
         "OneHotAttrs", single=True)  # fmt: skip
_declare("dyn.topk", 2, [1], _topk_type,
         lambda o, a: algorithm.topk(
             a[0], int(_number(a[1])), o.axis, o.ret_type, o.is_ascend, o.dtype),
         "TopkAttrs", single=True)  # fmt: skip
_declare("dyn.expand_dims", 2, [1], _expand_type, _static_expand, "DynExpandDimsAttrs", single=True)
_declare("dyn.squeeze", 2, [1], _squeeze_type, lambda o, a: transform.squeeze(a[0], a[1]),
         "SqueezeAttrs")  # fmt: skip
_declare("dyn.strided_slice", 4, [1, 2, 3], _same_rank(), _static_slice, "StridedSliceAttrs")
_declare("dyn.sparse_to_dense", 4, [3], _like_shape(3, 1),
         lambda o, a: transform.sparse_to_dense(a[0], a[3], a[1], a[2]))  # fmt: skip
_declare("dyn.image.resize2d", 3, [1, 2], _resize_type, _static_resize, "Resize2DAttrs")
_declare("dyn.nn.upsampling", 3, [1, 2], _scaled_type,
         lambda o, a: nn.upsampling(a[0], _number(a[1]), _number(a[2]),
                                    **_options(o, "scale_h", "scale_w")),
         "UpSamplingAttrs")  # fmt: skip
_declare("dyn.nn.upsampling3d", 4, [1, 2, 3], _scaled_type,
         lambda o, a: nn.upsampling3d(a[0], _number(a[1]), _number(a[2]), _number(a[3]),
                                      **_options(o, "scale_d", "scale_h", "scale_w")),
         "UpSampling3DAttrs")  # fmt: skip
_declare("dyn.nn.pad", 3, [1], _same_rank(), _static_pad, "PadAttrs", rank=2)

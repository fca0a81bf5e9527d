"""What OpenCL ML of Qualcomm's GPUs (CLML) takes: networks for pictures, channels first.

    mod = partition_for_clml(mod, params)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tvm.ffi import get_global_func
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.relay.dataflow_pattern import (
    DFPattern,
    is_constant,
    is_op,
    is_tuple,
    is_tuple_get_item,
    wildcard,
)
from tvm.relay.expr import Call, Constant, TupleGetItem, const
from tvm.relay.expr_functor import ExprMutator
from tvm.relay.function import Function
from tvm.relay.transform.function_pass import function_pass

from .partition import bound, root_call
from .register import register_pattern_table
from .subgraphs import OpAttrContext as OpAttrContext
from .subgraphs import RemoveDropout as RemoveDropout
from .subgraphs import RemoveDropoutPass as RemoveDropoutPass
from .subgraphs import convolutions_in, get_op_name

_NAME: Final = "clml"
_DTYPES: Final = ("float32", "float16")


def clml_sdk_version() -> int:
    """The version of the library that was found; 2 where nobody says."""
    asked = get_global_func("relay.op.clml_sdk_version", allow_missing=True)
    return int(asked()) if asked is not None else 2


def is_clml_runtime_enabled() -> bool:
    """Whether what the compiler makes can run here."""
    asked = get_global_func("relay.op.is_clml_runtime_enabled", allow_missing=True)
    return bool(asked()) if asked is not None else False


class OptimizeBatchnorm(ExprMutator):
    """Puts a batch norm after a convolution with a bias into the weights and the bias."""

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        """The convolution with other weights, or the field as it was."""
        made = super().visit_tuple_getitem(op)
        norm = made.tuple_value
        if made.index != 0 or get_op_name(norm) != "nn.batch_norm":
            return made
        found = _folded(norm)
        return made if found is None else found


def _folded(norm: Call) -> Any:
    from tvm import relay

    total = norm.args[0]
    known = norm.args[1:]
    if get_op_name(total) not in ("nn.bias_add", "add", "nn.conv2d"):
        return None
    conv: Any = total if get_op_name(total) == "nn.conv2d" else total.args[0]  # type: ignore[attr-defined]
    bias = None if conv is total else total.args[1]  # type: ignore[attr-defined]
    values = [*known, *([] if bias is None else [bias])]
    if get_op_name(conv) != "nn.conv2d" or not isinstance(conv.args[1], Constant):
        return None
    if not all(isinstance(value, Constant) for value in values):
        return None
    attrs: Any = norm.attrs
    options = conv.attrs
    if options.kernel_layout != "OIHW" or options.data_layout != "NCHW" or int(attrs.axis) != 1:
        return None
    gamma, beta, mean, var = (value.data.numpy() for value in known)  # type: ignore[attr-defined]
    scale = 1.0 / np.sqrt(var + float(attrs.epsilon))
    scale = scale * gamma if attrs.scale else scale
    weight = conv.args[1].data.numpy()
    before = np.zeros_like(mean) if bias is None else bias.data.numpy().reshape(-1)
    if before.size not in (1, mean.size):
        return None
    after = (before - mean) * scale + (beta if attrs.center else 0)
    made = relay.nn.conv2d(
        conv.args[0], const((weight * scale.reshape(-1, 1, 1, 1)).astype(weight.dtype)),
        **dict(options.items()),
    )  # fmt: skip
    return relay.nn.bias_add(made, const(after.astype(weight.dtype)))


@function_pass(opt_level=0)
class OptimizeBatchnormPass:
    """Functions whose batch norms are in the weights of convolutions, where they can be."""

    def transform_function(self, func: Function, mod: IRModule, _: PassContext) -> Any:
        """One function."""
        return OptimizeBatchnorm().visit(func)


def partition_for_clml(
    mod: IRModule, params: Mapping[str, Any] | None = None, **opts: Any
) -> IRModule:
    """The module with functions for CLML."""
    from tvm.relay import transform as t

    simple: list[Any] = [t.InferType(), RemoveDropoutPass(), t.FoldConstant(),
                         OptimizeBatchnormPass()]  # fmt: skip
    return Sequential([
        *simple,
        t.MergeComposite(clml_pattern_table()),
        t.AnnotateTarget(_NAME, False),
        t.MergeCompilerRegions(),
        t.PartitionGraph(),
        t.InferType(),
    ])(bound(mod, params))  # fmt: skip


def preprocess_module(mod: IRModule) -> IRModule:
    """The module with convolutions of NCHW and OIHW."""
    from tvm import relay

    made: IRModule = convolutions_in(
        {"nn.conv2d": ("NCHW", "OIHW")}, {"nn.conv2d": relay.nn.conv2d}
    )(mod)
    return made


def preprocess_for_clml(mod: IRModule) -> IRModule:
    """The module without dropout, with constants computed and batch norms in weights."""
    from tvm.relay import transform as t

    passes: list[Any] = [t.InferType(), RemoveDropoutPass(), t.FoldConstant(),
                         OptimizeBatchnormPass()]  # fmt: skip
    return Sequential(passes)(mod)


# --- patterns ---


def _conv(op: str) -> DFPattern:
    made: DFPattern = is_op(op)(wildcard(), is_constant())
    made = made.optional(lambda x: is_op("nn.bias_add")(x, is_constant()))
    made = made.optional(lambda x: is_op("add")(x, is_constant()))
    known = [is_constant() for _ in range(4)]
    made = made.optional(lambda x: is_tuple_get_item(is_op("nn.batch_norm")(x, *known), 0))
    made = made.optional(lambda x: is_op("nn.relu")(x))
    return made.optional(lambda x: is_op("clip")(x).has_attr({"a_min": 0.0, "a_max": 6.0}))


def _padded_conv() -> DFPattern:
    padded = is_op("nn.pad")(wildcard(), is_constant())
    made: DFPattern = is_op("nn.conv2d")(padded, is_constant())
    made = made.optional(lambda x: is_op("nn.bias_add")(x, is_constant()))
    return made.optional(lambda x: is_op("nn.relu")(x))


def _dense() -> DFPattern:
    product = is_op("nn.dense")(wildcard(), is_constant())
    biased = product.optional(lambda x: is_op("nn.bias_add")(x, is_constant()))
    return biased.optional(lambda x: is_op("add")(x, is_constant()))


def _batch_norm() -> DFPattern:
    known = [is_constant() for _ in range(4)]
    return is_tuple_get_item(is_op("nn.batch_norm")(wildcard(), *known), 0)


_UNARY: Final = {
    "softmax": "nn.softmax", "reshape": "reshape", "avg_pool2d": "nn.avg_pool2d",
    "max_pool2d": "nn.max_pool2d", "global_avg_pool2d": "nn.global_avg_pool2d",
    "global_max_pool2d": "nn.global_max_pool2d", "relu": "nn.relu", "clip": "clip",
    "batch_flatten": "nn.batch_flatten", "depth_to_space": "nn.depth_to_space",
    "upsampling": "nn.upsampling",
}  # fmt: skip
_BINARY: Final = ("add", "subtract", "multiply", "minimum", "maximum", "divide")


@register_pattern_table("clml")
def clml_pattern_table() -> list[tuple[str, DFPattern, Callable[[Any], bool]]]:
    """The larger patterns first."""
    return [
        ("clml.pad_conv2d", _padded_conv(), _takes_padded_conv),
        ("clml.conv2d", _conv("nn.conv2d"), _takes_conv),
        ("clml.conv2d_transpose", _conv("nn.conv2d_transpose"), _takes_transposed),
        ("clml.dense1d", _dense(), lambda e: _takes_dense(e, (1,))),
        ("clml.dense2d", _dense(), lambda e: _takes_dense(e, None)),
        ("clml.pad", is_op("nn.pad")(wildcard(), is_constant()), _takes_pad),
        ("clml.concat", is_op("concatenate")(is_tuple(None)), _takes_concat),
        ("clml.batch_norm", _batch_norm(), _are_pictures),
        *[(f"clml.{op}", is_op(op)(wildcard(), wildcard()), _takes_binary) for op in _BINARY],
        *[(f"clml.{name}", is_op(op)(wildcard()), _takes_unary) for name, op in _UNARY.items()],
        ("clml.batch_matmul", is_op("nn.batch_matmul")(wildcard(), wildcard()), _takes_batches),
    ]


# --- checks ---


def _types(expr: Any) -> list[Any]:
    call: Any = expr.tuple_value if isinstance(expr, TupleGetItem) else expr
    found = [arg.checked_type for arg in call.args]
    return [t for t in found if hasattr(t, "shape")]


def _are_of(expr: Any, dtypes: tuple[str, ...] = _DTYPES) -> bool:
    return all(str(typ.dtype) in dtypes for typ in _types(expr))


def _are_pictures(expr: Any) -> bool:
    return _are_of(expr) and len(_types(expr)[0].shape) == 4


def _takes_conv(expr: Any) -> bool:
    conv: Any = root_call(expr, "nn.conv2d")
    attrs = conv.attrs
    data, kernel = conv.args[0].checked_type, conv.args[1].checked_type
    if not _are_of(conv) or attrs.data_layout != "NCHW" or attrs.kernel_layout != "OIHW":
        return False
    if len(data.shape) != 4 or attrs.out_dtype not in ("", *_DTYPES):
        return False
    groups, channels = int(attrs.groups), int(data.shape[1])
    return groups == 1 or (groups == channels and int(kernel.shape[1]) == 1)


def _takes_padded_conv(expr: Any) -> bool:
    return _takes_pad(root_call(expr, "nn.pad")) and _takes_conv(expr)


def _takes_transposed(expr: Any) -> bool:
    attrs: Any = root_call(expr, "nn.conv2d_transpose").attrs
    plain = int(attrs.groups) == 1 and all(int(rate) == 1 for rate in attrs.dilation)
    return plain and bool(attrs.data_layout == "NCHW") and _are_of(expr)


def _takes_dense(expr: Any, rows: tuple[int, ...] | None) -> bool:
    product: Any = root_call(expr, "nn.dense")
    shape = product.args[0].checked_type.shape
    if not _are_of(product) or len(shape) != 2:
        return False
    return rows is None or int(shape[0]) in rows


def _takes_pad(expr: Any) -> bool:
    attrs = expr.attrs
    width = [[int(e) for e in pair] for pair in attrs.pad_width]
    known = attrs.pad_mode in ("constant", "reflect") and len(width) == 4
    return known and not any(width[0]) and not any(width[1]) and _are_of(expr)


def _takes_concat(expr: Any) -> bool:
    fields = [field.checked_type for field in expr.args[0].fields]
    ranks = {len(typ.shape) for typ in fields}
    return ranks == {4} and int(expr.attrs.axis) in (1, -3) and all(
        str(typ.dtype) in _DTYPES for typ in fields
    )


def _takes_binary(expr: Any) -> bool:
    left, right = _types(expr)
    if not _are_of(expr) or any(isinstance(arg, Constant) for arg in expr.args):
        return False
    shapes = [[int(extent) for extent in typ.shape] for typ in (left, right)]
    return shapes[0] == shapes[1] and len(shapes[0]) in (2, 4)


def _takes_unary(expr: Any) -> bool:
    layout = getattr(expr.attrs, "layout", "NCHW")
    if get_op_name(expr) == "nn.softmax" and len(_types(expr)[0].shape) > 2:
        return False
    return layout in ("NCHW", "") and _are_of(expr)


def _takes_batches(expr: Any) -> bool:
    attrs = expr.attrs
    plain = bool(attrs.transpose_b) and not attrs.transpose_a
    return plain and _are_of(expr) and int(_types(expr)[0].shape[0]) == 1

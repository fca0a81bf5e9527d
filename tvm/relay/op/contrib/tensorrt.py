"""What TensorRT computes: most operators of networks for pictures, with limits on each.

    mod = partition_for_tensorrt(mod, params)

Options are the attributes of the target, a mapping or a `Target`: `tensorrt_version`,
`use_implicit_batch` (the first axis is the batch in all tensors, and no operator may touch it),
`use_fp16`, `remove_no_mac_subgraphs`, `max_workspace_size`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

from tvm.ffi import get_global_func
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.ir.type import TupleType
from tvm.relay.dataflow_pattern import (
    DFPattern,
    is_constant,
    is_op,
    is_tuple,
    is_tuple_get_item,
    wildcard,
)
from tvm.relay.expr import Constant, Tuple
from tvm.relay.ty import Any as AnyExtent
from tvm.relay.ty import TensorType
from tvm.target import Target

from .partition import bound
from .register import register_pattern_table
from .subgraphs import IsComputeIntensiveGraph as IsComputeIntensiveGraph
from .subgraphs import RemoveDropout as RemoveDropout
from .subgraphs import RemoveDropoutPass as RemoveDropoutPass
from .subgraphs import get_args as get_args
from .subgraphs import get_attrs as get_attrs
from .subgraphs import get_op_name as get_op_name
from .subgraphs import pruned

Check = Callable[[Any, Sequence[Any], str], bool]
Version = tuple[int, int, int]
_DEFAULTS: Final = {
    "tensorrt_version": (6, 0, 1), "use_implicit_batch": True, "use_fp16": False,
    "remove_no_mac_subgraphs": False, "max_workspace_size": 1 << 30,
}  # fmt: skip
_current: list[Mapping[str, Any]] = []  # the options of the partitions under way


def is_tensorrt_compiler_enabled() -> bool:
    """Whether somebody registered the compiler `relay.ext.tensorrt`."""
    return get_global_func("relay.ext.tensorrt", allow_missing=True) is not None


def is_tensorrt_runtime_enabled() -> bool:
    """Whether what the compiler makes can run here."""
    asked = get_global_func("relay.ext.tensorrt.is_runtime_enabled", allow_missing=True)
    return bool(asked()) if asked is not None else False


def get_tensorrt_target() -> Any:
    """The target of the partition under way; ValueError where there is none."""
    if not _current:
        raise ValueError(
            "get_tensorrt_target: no partition for TensorRT is under way; "
            "legal: within partition_for_tensorrt"
        )
    return _current[-1]


def _option(name: str) -> Any:
    options = _current[-1] if _current else _DEFAULTS
    return options.get(name, _DEFAULTS[name])


def get_tensorrt_version() -> Version:
    """The version that is compiled for."""
    major, minor, patch = (int(part) for part in _option("tensorrt_version"))
    return major, minor, patch


def get_tensorrt_use_implicit_batch_mode() -> bool:
    """Whether the first axis of all tensors is the batch."""
    return bool(_option("use_implicit_batch"))


def get_tensorrt_remove_no_mac_subgraphs() -> bool:
    """Whether parts without products stay outside."""
    return bool(_option("remove_no_mac_subgraphs"))


def get_tensorrt_use_fp16() -> bool:
    """Whether tensors of float16 are taken."""
    return bool(_option("use_fp16"))


def partition_for_tensorrt(
    mod: IRModule, params: Mapping[str, Any] | None = None, target: Any = None
) -> IRModule:
    """The module with functions for TensorRT; channels come first in them, dropout is gone."""
    from tvm.relay import transform as t

    mod = bound(mod, params)
    _current.append(dict(target.attrs) if isinstance(target, Target) else dict(target or {}))
    first = {"nn.conv1d": "NCW", "nn.conv2d": "NCHW", "nn.conv3d": "NCDHW",
             "nn.conv2d_transpose": "NCHW"}  # fmt: skip
    remove_dropout: Any = RemoveDropoutPass()
    try:
        with PassContext(opt_level=3):  # layouts are changed from there on
            made = Sequential([
                t.InferType(),
                remove_dropout,
                t.RemoveUnusedFunctions(),
                t.ConvertLayout({name: [layout, "default"] for name, layout in first.items()}),
                t.FoldConstant(),
                t.InferType(),
                t.MergeComposite(pattern_table()),
                t.AnnotateTarget("tensorrt"),
                t.MergeCompilerRegions(),
                t.PartitionGraph(),
                t.InferType(),
            ])(mod)  # fmt: skip
        return prune_tensorrt_subgraphs(made)
    finally:
        _current.pop()


# --- checks ---


def is_supported_trt_type(typ: Any, op_name: str) -> bool:
    """Whether its tensors are of float32 (or float16), open along an implicit batch alone."""
    if isinstance(typ, TupleType):
        return all(is_supported_trt_type(field, op_name) for field in typ.fields)
    if not isinstance(typ, TensorType):
        return False
    dtypes = ("float32", "float16") if get_tensorrt_use_fp16() else ("float32",)
    fixed = typ.shape[1:] if _implicit() else typ.shape
    return str(typ.dtype) in dtypes and not any(isinstance(e, AnyExtent) for e in fixed)


def make_predicate(checker: Check) -> Callable[[Any], bool]:
    """A check of a match: the operands' types, that of the result, then `checker`."""

    def predicate(expr: Any) -> bool:
        found = expr.tuple_value if hasattr(expr, "tuple_value") else expr
        name = get_op_name(found)
        args, attrs = get_args(expr), get_attrs(expr)
        types = [arg.checked_type for arg in args] + [expr.checked_type]
        return all(is_supported_trt_type(t, name) for t in types) and checker(attrs, args, name)

    return predicate


def make_trt_version_checker(version: Version) -> Check:
    """True from a version on."""

    def checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
        return get_tensorrt_version() >= version

    return checker


def make_and_checker(*checkers: Check) -> Check:
    """True where all are."""

    def checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
        return all(each(attrs, args, op_name) for each in checkers)

    return checker


def _any(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    return True


def _shape(arg: Any) -> list[int]:
    """The extents; -1 for one that is open."""
    return [int(getattr(extent, "value", -1)) for extent in arg.checked_type.shape]


def _implicit() -> bool:
    return get_tensorrt_use_implicit_batch_mode()


def _is(attrs: Any, **layouts: str) -> bool:
    """Whether layouts are these; one that is not set is as if it was."""
    return all(getattr(attrs, name) in ("", value) for name, value in layouts.items())


def multiply_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Not the one product by region that is slower there than here."""
    shapes = [_shape(arg) for arg in args]
    return not all(s in ([300, 64, 7, 7], [300, 1, 1, 1]) for s in shapes)


def reduce_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """With an implicit batch: some axes, and not the first."""
    if not _implicit():
        return True
    axes = [int(axis) for axis in attrs.axis or ()]
    return bool(axes) and not attrs.exclude and 0 not in axes


def add_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """No scalars with an implicit batch; otherwise no constants with a batch of their own."""
    shapes = [_shape(arg) for arg in args]
    if _implicit():
        return all(shapes)
    batched = any(isinstance(arg, Constant) for arg in args) and all(shapes)
    left, right = shapes
    if batched and left[0] == right[0] != 1:
        return len(left) <= 3 and len(right) <= 3
    return True


def batch_norm_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels at axis 1 or 3, volumes from 6.0.1 on."""
    rank = len(_shape(args[0]))
    if rank > 5 or (rank == 5 and get_tensorrt_version() < (6, 0, 1)):
        return False
    return int(attrs.axis) in (1, 3)


def softmax_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Not along an implicit batch."""
    return not (_implicit() and int(attrs.axis) == 0)


def conv1d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first."""
    return _is(attrs, data_layout="NCW", kernel_layout="OIW")


def conv2d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first."""
    return _is(attrs, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW")


def dense_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Two to four axes, and a matrix."""
    return 2 <= len(_shape(args[0])) <= 4 and len(_shape(args[1])) == 2


def batch_matmul_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """With an implicit batch both operands have it."""
    left, right = (_shape(arg) for arg in args)
    return not _implicit() or (len(left) == len(right) and left[0] == right[0])


def layer_norm_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Not along an implicit batch."""
    return not (_implicit() and int(attrs.axis) == 0)


def bias_add_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Two to four axes."""
    return len(_shape(args[0])) in (2, 3, 4)


def max_pool_2d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first; rounding up from 5.1.5 on."""
    rounds = not attrs.ceil_mode or get_tensorrt_version() >= (5, 1, 5)
    return attrs.layout == "NCHW" and rounds


def avg_pool_2d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """As maxima; padding that counts is the same on both sides."""
    pad = [int(p) for p in attrs.padding]
    uneven = len(pad) == 4 and (pad[0] != pad[2] or pad[1] != pad[3])
    return max_pool_2d_checker(attrs, args, op_name) and not (attrs.count_include_pad and uneven)


def global_max_pool_2d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first."""
    return bool(attrs.layout == "NCHW")


def global_avg_pool_2d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first."""
    return bool(attrs.layout == "NCHW")


def expand_dims_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Not before an implicit batch."""
    return not (_implicit() and int(attrs.axis) == 0)


def squeeze_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Axes are said, and none is an implicit batch."""
    axes = [int(axis) for axis in attrs.axis or ()]
    return bool(axes) and not (_implicit() and 0 in axes)


def concatenate_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """With an implicit batch: not along it, and no constants."""
    if not _implicit():
        return True
    fields = args[0].fields if isinstance(args[0], Tuple) else []
    return int(attrs.axis) != 0 and not any(isinstance(field, Constant) for field in fields)


def split_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Not along an implicit batch."""
    return not (_implicit() and int(attrs.axis) == 0)


def conv2d_transpose_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first, no dilation."""
    dilated = any(int(rate) != 1 for rate in attrs.dilation)
    known = attrs.kernel_layout in ("", "OIHW", "IOHW")
    return known and not dilated and _is(attrs, data_layout="NCHW", out_layout="NCHW")


def transpose_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """With an implicit batch that stays first."""
    return not _implicit() or (bool(attrs.axes) and int(attrs.axes[0]) == 0)


_LAYOUTS: Final = {("NCHW", "NHWC"), ("NHWC", "NCHW"), ("NDHWC", "NCDHW"), ("NCDHW", "NDHWC")}


def layout_transform_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels from the first place to the last, or back."""
    return (str(attrs.src_layout), str(attrs.dst_layout)) in _LAYOUTS


def reshape_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """With an implicit batch that keeps its extent."""
    shape, new = _shape(args[0]), [int(extent) for extent in attrs.newshape or ()]
    if not shape or not new:
        return False
    if not _implicit():
        return -1 not in shape[1:]
    if shape[0] == -1:
        return new[0] in (-1, 0) and not (new[0] == -1 and _changes_rest(shape[1:], new[1:]))
    batch = shape[0] if new[0] == 0 else new[0]
    if batch == -1:
        rest = [shape[at + 1] if n == 0 else n for at, n in enumerate(new[1:])]
        known = prod(rest)
        batch = prod(shape) // known if known > 0 else -1
    return batch == shape[0]


def _changes_rest(shape: Sequence[int], new: Sequence[int]) -> bool:
    return prod(shape) != prod(shape[at] if n == 0 else n for at, n in enumerate(new))


def pad_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Zeros around the pictures of four axes."""
    value = args[1]
    zero = isinstance(value, Constant) and float(value.data.numpy()) == 0.0
    width = [[int(e) for e in pair] for pair in attrs.pad_width]
    plain = attrs.pad_mode == "constant" and zero and len(width) == 4
    return plain and not any(width[0]) and not any(width[1])


def strided_slice_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """From 5.1.5 on: steps forwards; an implicit batch as a whole."""
    if get_tensorrt_version() < (5, 1, 5) or attrs.begin is None or attrs.end is None:
        return False
    shape = _shape(args[0])
    begin, end = ([int(e) for e in given] for given in (attrs.begin, attrs.end))
    strides = [int(e) for e in attrs.strides or ()] or [1] * len(begin)
    if any(step < 1 for step in strides) or attrs.slice_mode not in ("end", "size"):
        return False
    axes = [int(axis) for axis in attrs.axes or range(len(begin))]
    if _implicit() and 0 in axes:
        at = axes.index(0)
        whole = end[at] == -1 if attrs.slice_mode == "size" else end[at] >= shape[0] != -1
        if begin[at] != 0 or not (whole or end[at] == shape[0]) or strides[at] != 1:
            return False
    if attrs.slice_mode == "size":
        return 0 not in end
    return all(
        shape[axis] == -1 or _bound(e, shape[axis]) > _bound(b, shape[axis])
        for axis, b, e in zip(axes, begin, end)
    )


def _bound(value: int, extent: int) -> int:
    return min(value + extent if value < 0 else value, extent)


def adaptive_max_pool2d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """One result a channel."""
    size = attrs.output_size
    extents = [size] if isinstance(size, int) else list(size or ())
    return bool(extents) and all(int(extent) == 1 for extent in extents)


def adaptive_avg_pool2d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """One result a channel."""
    return adaptive_max_pool2d_checker(attrs, args, op_name)


def conv3d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first, from 6.0.1 on."""
    layouts = _is(attrs, data_layout="NCDHW", kernel_layout="OIDHW", out_layout="NCDHW")
    return layouts and get_tensorrt_version() >= (6, 0, 1)


def max_pool_3d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first, from 6.0.1 on."""
    return bool(attrs.layout == "NCDHW") and get_tensorrt_version() >= (6, 0, 1)


def avg_pool_3d_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Channels first, from 6.0.1 on."""
    return max_pool_3d_checker(attrs, args, op_name)


def conv3d_transpose_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """As convolutions of volumes; no dilation, no padding of the result."""
    dilated = any(int(rate) != 1 for rate in attrs.dilation)
    padded = any(int(each) for each in attrs.output_padding)
    return conv3d_checker(attrs, args, op_name) and not dilated and not padded


# --- the table ---


def unary_op_pattern(op: str) -> DFPattern:
    """An operator of one operand."""
    return is_op(op)(wildcard())


def unary_op_pattern_with_any_tuple(op: str) -> DFPattern:
    """An operator of a tuple of any length."""
    return is_op(op)(is_tuple(None))


def binary_op_pattern(op: str) -> DFPattern:
    """An operator of two operands."""
    return is_op(op)(wildcard(), wildcard())


def binary_op_pattern_with_const(op: str) -> DFPattern:
    """An operator of an operand and a constant."""
    return is_op(op)(wildcard(), is_constant())


def proj_five_op_pattern_with_const(op: str) -> DFPattern:
    """The first result of an operator of an operand and four constants."""
    found = is_op(op)(wildcard(), is_constant(), is_constant(), is_constant(), is_constant())
    return is_tuple_get_item(found, 0)


_BY_WEIGHTS: Final[dict[str, Check]] = {
    "nn.conv3d": conv3d_checker, "nn.conv2d": conv2d_checker, "nn.conv1d": conv1d_checker,
    "nn.conv2d_transpose": conv2d_transpose_checker,
    "nn.conv3d_transpose": conv3d_transpose_checker, "nn.dense": dense_checker,
    "nn.bias_add": bias_add_checker,
}  # fmt: skip
_BINARY: Final[dict[str, Check]] = {
    "add": add_checker, "nn.batch_matmul": batch_matmul_checker, "divide": _any,
    "multiply": multiply_checker, "subtract": _any, "power": _any, "maximum": _any,
    "minimum": _any,
}  # fmt: skip
_UNARY: Final[dict[str, Check]] = {
    **dict.fromkeys(("nn.relu", "nn.leaky_relu", "sigmoid", "tanh", "exp", "log", "sqrt", "abs",
                     "negative", "nn.batch_flatten", "clip"), _any),
    "reshape": reshape_checker,
    **dict.fromkeys(("max", "min", "sum", "prod", "mean"), reduce_checker),
    "expand_dims": expand_dims_checker, "layout_transform": layout_transform_checker,
    "transpose": transpose_checker, "split": split_checker, "squeeze": squeeze_checker,
    "nn.softmax": softmax_checker,
    "nn.global_avg_pool2d": global_avg_pool_2d_checker,
    "nn.global_max_pool2d": global_max_pool_2d_checker,
    "nn.avg_pool2d": avg_pool_2d_checker, "nn.max_pool2d": max_pool_2d_checker,
    "nn.avg_pool3d": avg_pool_3d_checker, "nn.max_pool3d": max_pool_3d_checker,
    "nn.adaptive_avg_pool2d": adaptive_avg_pool2d_checker,
    "nn.adaptive_max_pool2d": adaptive_max_pool2d_checker,
    "strided_slice": strided_slice_checker,
    **dict.fromkeys(("atan", "ceil"), make_trt_version_checker((5, 1, 5))),
    **dict.fromkeys(("cos", "sin", "tan", "cosh", "sinh", "asin", "acos", "asinh", "acosh",
                     "atanh", "floor"), make_trt_version_checker((5, 1, 5))),
    "erf": make_trt_version_checker((7, 0, 0)),
}  # fmt: skip


@register_pattern_table("tensorrt")
def pattern_table() -> list[tuple[str, DFPattern, Callable[[Any], bool]]]:
    """A pattern for each operator."""
    layer_norm = is_op("nn.layer_norm")(wildcard(), wildcard(), wildcard())
    rows: list[tuple[str, DFPattern, Check]] = [
        *[(op, binary_op_pattern_with_const(op), check) for op, check in _BY_WEIGHTS.items()],
        *[(op, binary_op_pattern(op), check) for op, check in _BINARY.items()],
        *[(op, unary_op_pattern(op), check) for op, check in _UNARY.items()],
        ("nn.pad", binary_op_pattern_with_const("nn.pad"), pad_checker),
        ("concatenate", unary_op_pattern_with_any_tuple("concatenate"), concatenate_checker),
        ("nn.batch_norm", proj_five_op_pattern_with_const("nn.batch_norm"), batch_norm_checker),
        ("nn.layer_norm", layer_norm, layer_norm_checker),
    ]
    return [(f"tensorrt.{op}", pattern, make_predicate(check)) for op, pattern, check in rows]


# --- what is worth handing over ---


def is_valid_subgraph(params: Sequence[Any], body: RelaxExpr) -> bool:
    """Whether the inputs have one batch, if that is implicit, and there is enough to do."""
    if _implicit():
        batches: set[int] = set()
        for param in params:
            found: Any = param.checked_type
            tensors: list[Any] = list(found.fields) if isinstance(found, TupleType) else [found]
            for tensor in tensors:
                if not tensor.shape:
                    return False
                if not isinstance(tensor.shape[0], AnyExtent):
                    batches.add(int(tensor.shape[0]))
        if len(batches) > 1:
            return False
    if not get_tensorrt_remove_no_mac_subgraphs():
        return True
    return IsComputeIntensiveGraph().is_graph_compute_intensive(body)


def prune_tensorrt_subgraphs(mod: IRModule) -> IRModule:
    """The module with functions for TensorRT that it would not take back in main."""
    return pruned(mod, "tensorrt", lambda func: is_valid_subgraph(func.params, func.body))

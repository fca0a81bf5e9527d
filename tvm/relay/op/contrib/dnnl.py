"""What oneDNN (DNNL) computes: convolutions and products with what follows them, and single calls.

    mod = MergeComposite(pattern_table())(mod)
    mod = PartitionGraph()(MergeCompilerRegions()(AnnotateTarget("dnnl")(mod)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import register_op_attr
from tvm.relay.dataflow_pattern import DFPattern, is_constant, is_op, wildcard
from tvm.relay.traverse import post_order

from .register import register_pattern_table
from .subgraphs import IsComputeIntensiveGraph as _Worthwhile
from .subgraphs import get_args as get_args
from .subgraphs import get_attrs as get_attrs
from .subgraphs import get_op_name as get_op_name
from .subgraphs import pruned

Check = Callable[[Any, Sequence[Any], str], bool]
Entry = tuple[Any, ...]  # a name and a pattern, and a check of matches where one is needed

SINGLE: Final = (
    "nn.batch_norm", "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose",
    "nn.conv3d_transpose", "nn.dense", "nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d",
    "nn.max_pool3d", "nn.avg_pool3d", "abs", "clip", "exp", "log", "sqrt", "round", "nn.relu",
    "nn.leaky_relu", "tanh", "sigmoid", "nn.softmax", "add", "multiply", "nn.layer_norm",
    "nn.batch_matmul",
)  # fmt: skip


def _takes(expr: Any) -> bool:
    return True


for _name in SINGLE:
    register_op_attr(_name, "target.dnnl", _takes)


def append_eltwise_ops(op: DFPattern, eltwise: str | None) -> DFPattern:
    """The pattern with a function of its elements behind it; None adds nothing."""
    if eltwise == "gelu":
        half = is_op("multiply")(is_op("erf")(is_op("divide")(op, is_constant())), is_constant())
        return is_op("multiply")(op, is_op("add")(half, is_constant()))
    if eltwise == "swish":
        return is_op("multiply")(op, is_op("sigmoid")(op))
    if eltwise == "mish":
        softplus = is_op("log")(is_op("add")(is_op("exp")(op), wildcard()))
        return is_op("multiply")(op, is_op("tanh")(softplus))
    return is_op(eltwise)(op) if eltwise else op


def make_conv_pattern(
    conv_name: str, with_bias: bool = True, with_eltwise: str | None = None
) -> DFPattern:
    """A convolution, with a bias that is added and a function of the sum, or without."""
    conv = is_op(conv_name)(wildcard(), wildcard())
    summed = is_op("add")(conv, wildcard()) if with_bias else conv
    return append_eltwise_ops(summed, with_eltwise)


def make_dense_pattern(with_bias: bool = True, with_eltwise: str | None = None) -> DFPattern:
    """A product, as `make_conv_pattern` has convolutions."""
    return make_conv_pattern("nn.dense", with_bias, with_eltwise)


def make_conv_bias_sum_relu_pattern(conv_type: str, has_relu: bool = True) -> DFPattern:
    """A convolution with a bias, and another tensor added to it."""
    summed = is_op("add")(make_conv_pattern(conv_type), wildcard())
    return is_op("nn.relu")(summed) if has_relu else summed


def make_dense_bias_sum_pattern() -> tuple[str, DFPattern]:
    """A product with a bias, and another tensor added to it."""
    return "dnnl.dense_bias_sum", is_op("add")(make_dense_pattern(), wildcard())


def make_qnn_conv2d_pattern() -> tuple[str, DFPattern]:
    """A quantized convolution: bias, requantization, limits, and a quantized sum."""
    return _qnn_pattern("dnnl.qnn.conv2d", "qnn.conv2d")


def make_qnn_dense_pattern() -> tuple[str, DFPattern]:
    """A quantized product, as `make_qnn_conv2d_pattern` has convolutions."""
    return _qnn_pattern("dnnl.qnn.dense", "qnn.dense")


def _qnn_pattern(name: str, op: str) -> tuple[str, DFPattern]:
    made: DFPattern = is_op(op)(wildcard(), *(is_constant() for _ in range(5)))
    made = is_op("cast")(made) | made
    made = is_op("add")(made, is_constant()) | made
    made = is_op("multiply")(made, is_constant()) | made
    made = is_op("clip")(made) | made
    made = is_op("cast")(made)
    summed = is_op("qnn.add")(made, wildcard(), *(is_constant() for _ in range(6)))
    return name, is_op("clip")(summed) | made


# --- questions to a match ---


def get_shape(tensor: Any) -> Any:
    """The extents of an expression's type."""
    return tensor.checked_type.shape


def get_dtype(tensor: Any) -> str:
    """The data type of an expression."""
    return str(tensor.checked_type.dtype)


def add_checker(attrs: Any, args: Sequence[Any], op_name: str) -> bool:
    """Whether an `add` is the "sum" (of equal shapes) or "bias_add" (of channels) it seems."""
    left, right = ([int(e) for e in get_shape(arg)] for arg in args[:2])
    if op_name == "sum":
        return get_op_name(args[0]) == "add" and left == right
    if op_name == "bias_add":
        return _is_bias(args[0], left, right)
    return True


def _is_bias(product: Any, shape: list[int], bias: list[int]) -> bool:
    """Whether there is a number for each channel, which stands beside the channels."""
    if get_op_name(product) == "nn.dense":
        return len(bias) == 1 or (len(bias) == 2 and bias[0] == 1)
    layout = str(getattr(product.attrs, "data_layout", "NCHW"))
    axis = layout.index("C") if layout.isalpha() else 1
    wanted = [1] * len(shape)
    wanted[axis] = shape[axis]
    return [1] * (len(shape) - len(bias)) + bias == wanted


def make_sum_pattren_predicate(checker: Check) -> Callable[[Any], bool]:
    """A check of the `add` nearest to a match's end, as a sum."""

    def predicate(expr: Any) -> bool:
        if get_op_name(expr) == "nn.relu":
            expr = expr.args[0]
        return all(checker(e.attrs, e.args, "sum") for e in _adds(expr)[-1:])

    return predicate


def make_bias_add_pattren_predicate(checker: Check) -> Callable[[Any], bool]:
    """A check of the first `add` of a match, as a bias."""

    def predicate(expr: Any) -> bool:
        after = [e for e in _adds(expr) if get_op_name(e.args[0]).startswith("nn.")]
        return all(checker(e.attrs, e.args, "bias_add") for e in after[:1])

    return predicate


def _adds(expr: Any) -> list[Any]:
    return [e for e in post_order(expr) if get_op_name(e) == "add"]


# --- the table ---


def make_dnnl_pattern(op_name: str, with_bias: bool, with_eltwise: str | None) -> Entry:
    """The entry of a convolution or a product: "dnnl.conv2d_bias_relu", "dnnl.deconv2d", ..."""
    short = op_name.partition(".")[2]
    name = f"dnnl.deconv{short[4:6]}" if short.endswith("_transpose") else f"dnnl.{short}"
    name += "_bias" * with_bias
    name += f"_{with_eltwise.rpartition('.')[2]}" if with_eltwise else ""
    pattern = make_conv_pattern(op_name, with_bias, with_eltwise)
    if op_name == "nn.dense":
        return name, pattern
    return name, pattern, make_bias_add_pattren_predicate(add_checker)


@register_pattern_table("dnnl")
def pattern_table() -> list[Entry]:
    """The larger patterns first."""
    is_sum = make_sum_pattren_predicate(add_checker)
    conv = "nn.conv2d"
    made: list[Entry] = [
        make_qnn_conv2d_pattern(),
        make_qnn_dense_pattern(),
        make_dense_bias_sum_pattern(),
        ("dnnl.conv2d_bias_sum_relu", make_conv_bias_sum_relu_pattern(conv), is_sum),
        ("dnnl.conv2d_bias_sum", make_conv_bias_sum_relu_pattern(conv, has_relu=False), is_sum),
    ]
    functions = ("nn.relu", "tanh", "sigmoid", "clip", "gelu", "swish", "mish", None)
    products = ("nn.conv1d", conv, "nn.conv3d", "nn.conv2d_transpose", "nn.conv3d_transpose",
                "nn.dense")  # fmt: skip
    for with_bias in (True, False):
        for function in functions:
            if with_bias or function:
                made += [make_dnnl_pattern(name, with_bias, function) for name in products]
    return made


# --- what is worth handing over ---


class IsComputeIntensiveGraph(_Worthwhile):
    """Says of a part whether it has a product, a convolution or a norm of layers."""

    ops = frozenset((
        "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose", "nn.conv3d_transpose",
        "nn.dense", "nn.layer_norm", "nn.batch_matmul", "nn.global_avg_pool2d",
    ))  # fmt: skip


def is_valid_subgraph(body: RelaxExpr) -> bool:
    """Whether a part of the program has a product or a convolution."""
    return IsComputeIntensiveGraph().is_graph_compute_intensive(body)


def prune_dnnl_subgraphs(mod: IRModule) -> IRModule:
    """The module with functions for oneDNN that are not worth it back in main."""
    return pruned(mod, "dnnl", lambda func: is_valid_subgraph(func.body))

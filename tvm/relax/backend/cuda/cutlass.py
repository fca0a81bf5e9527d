"""Products, convolutions, attention and norms that CUTLASS takes over.

Patterns are listed least wanted first: the longest match stands last in each family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential, declare_module_pass
from tvm.relax import transform
from tvm.relax.backend.library_checks import (
    divisible,
    is_number,
    residual_fits,
    size_of,
    tensor,
    tensors,
)
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix, register_patterns
from tvm.relax.backend.patterns import (
    make_attention_pattern,
    make_attention_rewrite_pattern,
    make_fused_bias_activation_pattern,
    make_layer_norm_pattern,
    make_matmul_pattern,
    make_residual_block_pattern,
    make_rms_norm_pattern,
    make_stacked_attention_pattern,
)
from tvm.relax.backend.utils import has_leaking_intermediate_variables
from tvm.relax.backend.workspace import LibraryWorkspace, annotated
from tvm.relax.dpl import rewrite_call
from tvm.relax.dpl.pattern import DFPattern, GlobalVarPattern, TuplePattern, is_op, wildcard
from tvm.relax.expr import Call, Function
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext
from tvm.tir.expr import IntImm

Check: TypeAlias = Callable[[PatternCheckContext], bool]
Entry: TypeAlias = tuple[str, DFPattern, Mapping[str, DFPattern], Check]
Rewrite: TypeAlias = tuple[DFPattern, Callable[[RelaxExpr, Any], RelaxExpr]]

_FLOATS: Final = ("float16", "float32")
_BYTES: Final = ("int8", "uint8")
_SILU: Final = "relax.nn.silu"
_RELU: Final = "relax.nn.relu"
_GELU: Final = "relax.nn.gelu"


# --- what CUTLASS can do ---


def _types_fit(lhs: str, rhs: str) -> bool:
    return (lhs == rhs and lhs in _FLOATS) or (lhs in _BYTES and rhs in _BYTES)


def _check_conv2d(context: PatternCheckContext) -> bool:
    """NHWC with OHWI, of known sizes, and not depthwise."""
    root = context.annotated_expr["root"]
    assert isinstance(root, Call), "the root of these patterns is a convolution"
    found, attrs = [tensor(arg) for arg in root.args[:2]], _attrs(root)
    if has_leaking_intermediate_variables(context) or found[0] is None or found[1] is None:
        return False
    (data, kind), (weight, other) = found[0], found[1]
    formats = (str(attrs["data_layout"]), str(attrs["kernel_layout"]))
    if formats != ("NHWC", "OHWI") or not _types_fit(kind, other):
        return False
    if not all(is_number(extent) for extent in (*data, *weight)):
        return False
    groups = int(attrs["groups"])
    depthwise = is_number(data[3], groups) and is_number(weight[0], groups)
    return not (depthwise and groups > 1) and residual_fits(context, root)


def _check_matmul(context: PatternCheckContext) -> bool:
    """Known types, a summed-over extent that is a number, batches that fit."""
    found = tensors(context, "lhs", "rhs")
    if has_leaking_intermediate_variables(context) or found is None:
        return False
    (lhs, kind), (rhs, other) = found
    if not _types_fit(kind, other) or not residual_fits(context, context.annotated_expr["root"]):
        return False
    if not is_number(lhs[-1]):
        return False
    batches = [size_of(shape[:-2]) for shape in (lhs, rhs)]
    if all(is_number(count, 1) for count in batches):
        return True
    # one matrix on the right: the rows of all batches are those of one matrix
    return is_number(batches[1], 1) or (all(
        isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value
        for a, b in zip(lhs[:-2], rhs[:-2])
    ) and len(lhs) == len(rhs))


def _check_decode_matmul(context: PatternCheckContext) -> bool:
    """float16 times weights that were packed, of eight bits or of two times four, with scales."""
    found = tensors(context, "lhs", "w_encoded", "w_decoded", "scales")
    if has_leaking_intermediate_variables(context) or found is None:
        return False
    (lhs, kind), (packed, _), (weight, decoded), (scales, scale_kind) = found
    root = tensor(context.annotated_expr["root"])
    if root is None or (kind, decoded, scale_kind) != ("float16",) * 3 or root[1] not in _FLOATS:
        return False
    if len(packed) != 2 or len(weight) != 2 or not is_number(lhs[-1]):
        return False
    columns, rows = weight[1], weight[0]
    if not (divisible(columns, 16) and divisible(rows, 64)):
        return False
    if not residual_fits(context, context.annotated_expr["root"]):
        return False
    by_column = len(scales) == 1 and _equal(scales[0], columns)
    by_group = len(scales) == 2 and _equal(scales[1], columns)
    return (by_column or by_group) and _bias_is_row(context, columns)


def _bias_is_row(context: PatternCheckContext, columns: Any) -> bool:
    if "bias" not in context.annotated_expr:
        return True
    bias = tensor(context.annotated_expr["bias"])
    return bias is not None and _equal(size_of(bias[0]), columns) and _equal(bias[0][-1], columns)


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value


def _check_stacked_attention(context: PatternCheckContext) -> bool:
    """One tensor in three equal parts along its last dimension."""
    if has_leaking_intermediate_variables(context):
        return False
    info = context.annotated_expr["stacked_qkv"].struct_info
    if not isinstance(info, TensorStructInfo) or info.ndim != 3:
        return False
    split = context.annotated_expr.get("split")
    if split is None:
        return _slices_fit(context)
    attrs = _attrs(split)
    return int(attrs["axis"]) in (2, -1)


def _slices_fit(context: PatternCheckContext) -> bool:
    """Whether the slices are the thirds in the order of query, key and value."""
    stacked = tensor(context.annotated_expr["stacked_qkv"])
    if stacked is None or not is_number(stacked[0][2]):
        return False
    third = stacked[0][2]
    assert isinstance(third, IntImm), "just asked"
    width = third.value // 3
    for number, name in enumerate(("query", "key", "value")):
        piece = context.annotated_expr[f"strided_slice_{name}"]
        assert isinstance(piece, Call), "the pattern has calls"
        axes, begin, end = (_numbers(arg) for arg in piece.args[1:4])
        if (axes, begin, end) not in (
            ([2], [number * width], [(number + 1) * width]),
            ([-1], [number * width], [(number + 1) * width]),
        ):
            return False
    return third.value % 3 == 0


def _numbers(arg: Any) -> list[int] | None:
    values = [getattr(field, "value", None) for field in getattr(arg, "fields", ())]
    whole = [v.value if isinstance(v, IntImm) else None for v in values]
    return None if None in whole else [v for v in whole if v is not None]


def _check_attention(context: PatternCheckContext) -> bool:
    return not has_leaking_intermediate_variables(context)


def _check_norm(context: PatternCheckContext) -> bool:
    """float16 or float32, over the last dimension."""
    call = context.matched_expr
    assert isinstance(call, Call), "the patterns of norms are calls"
    found = tensor(call.args[0])
    if found is None or found[1] not in _FLOATS:
        return False
    axes = [int(axis) for axis in _attrs(call)["axes"]]
    return axes in ([-1], [len(found[0]) - 1])


def _check_rms_norm(context: PatternCheckContext) -> bool:
    """Kernels are known by their names."""
    kernel = context.annotated_expr["gv"]
    return isinstance(kernel, GlobalVar) and "rms_norm" in kernel.name_hint


def _attrs(call: RelaxExpr) -> Any:
    return getattr(call, "attrs", None) or {}


# --- patterns ---


def matmul_patterns() -> list[Entry]:
    """Products, with bias and activation."""

    def pattern(
        name: str, bias: bool = False, activation: str | None = None, *, transposed: bool
    ) -> Entry:
        suffix = "_transposed" if transposed else ""
        made = make_matmul_pattern(bias, activation, transposed)
        return f"cutlass.matmul{suffix}{name}", *made, _check_matmul

    return [
        entry
        for transposed in (False, True)
        for entry in (
            pattern("", transposed=transposed),
            pattern("_bias", True, transposed=transposed),
            pattern("_bias_relu", True, _RELU, transposed=transposed),
            pattern("_bias_gelu", True, _GELU, transposed=transposed),
        )
    ]


def decode_matmul_patterns() -> list[Entry]:
    """Products by weights that a kernel unpacks before."""

    def pattern(name: str) -> Entry:
        x, packed, scales = wildcard(), wildcard(), wildcard()
        weight = is_op("relax.call_tir")(GlobalVarPattern(), TuplePattern([packed, scales]))
        out: DFPattern = is_op("relax.matmul")(x, weight)
        parts: dict[str, DFPattern] = {
            "root": out, "lhs": x, "w_encoded": packed, "w_decoded": weight, "scales": scales
        }  # fmt: skip
        if "_cast" in name:
            out = parts["root"] = is_op("relax.astype")(out)
        if "_bias" in name:
            parts["bias"] = wildcard()
            out = is_op("relax.add")(out, parts["bias"])
        if "_gelu" in name:
            out = is_op(_GELU)(out)
        return f"cutlass.decode_matmul{name}", out, parts, _check_decode_matmul

    return [
        pattern(""),
        pattern("_bias"),
        pattern("_cast"),
        pattern("_cast_bias"),
        pattern("_bias_gelu"),
        pattern("_cast_bias_gelu"),
    ]


def conv2d_patterns() -> list[Entry]:
    """Convolutions, with bias and activation."""

    def pattern(name: str, *options: Any) -> Entry:
        made = make_fused_bias_activation_pattern("relax.nn.conv2d", *options)
        return f"cutlass.conv2d{name}", *made, _check_conv2d

    return [
        pattern(""), pattern("_bias", True), pattern("_bias_relu", True, _RELU),
        pattern("_bias_silu", True, _SILU),
    ]  # fmt: skip


def residual_block_patterns() -> list[Entry]:
    """Convolutions and products with a residual added or multiplied, and an activation."""
    families = (*conv2d_patterns(), *matmul_patterns(), *decode_matmul_patterns())
    takers = [entry for entry in families if "_bias" in entry[0]]
    found: list[Entry] = []
    for activation, suffix in ((None, ""), (_RELU, "_relu")):
        for name, pattern, parts, check in takers:
            for op, word in (("relax.add", "add"), ("relax.multiply", "multiply")):
                made = make_residual_block_pattern(
                    (pattern, parts), binary_op=op, activation=activation
                )
                found.append((f"{name}_residual_{word}{suffix}", *made, check))
    return found


def attention_patterns() -> list[Entry]:
    """Attention of separate tensors, and of one that has queries, keys and values."""
    stacked = [
        ("cutlass.stacked_attention",
         *make_stacked_attention_pattern(start_op=start, with_bias=bias), _check_stacked_attention)
        for start in ("split", "strided_slice") for bias in (False, True)
    ]  # fmt: skip
    return [
        ("cutlass.attention", *make_attention_pattern(), _check_attention),
        ("cutlass.attention_bias", *make_attention_pattern(with_bias=True), _check_attention),
        *stacked,
        ("cutlass.attention_var_len", *make_attention_pattern(var_len=True), _check_attention),
    ]


def layer_norm_pattern() -> list[Entry]:
    """Layer normalisation."""
    return [("cutlass.layer_norm", *make_layer_norm_pattern(), _check_norm)]


def rms_norm_pattern() -> list[Entry]:
    """Normalisation by the root of the mean square."""
    return [("cutlass.rms_norm", *make_rms_norm_pattern(), _check_rms_norm)]


def attention_rewrite_patterns() -> list[Rewrite]:
    """Patterns of attention that is written out, each with what makes a call of it."""
    return [
        make_attention_rewrite_pattern(qkv, out, bias, cast)
        for qkv in ("BSNH", "BSH")
        for out in ("BSNH", "BSH")
        for bias in (True, False)
        for cast in (True, False)
    ]


register_patterns(
    [
        *conv2d_patterns(), *matmul_patterns(), *decode_matmul_patterns(),
        *residual_block_patterns(), *attention_patterns(), *layer_norm_pattern(),
        *rms_norm_pattern(),
    ]
)  # fmt: skip


class WorkspaceAnnotator(LibraryWorkspace):
    """Says how many bytes functions for CUTLASS need."""

    LIBRARY = "cutlass"


@declare_module_pass("annotate_workspace")
def _annotate(mod: IRModule, ctx: PassContext) -> IRModule:
    """Functions for CUTLASS have the attribute WorkspaceSize, where they need memory."""
    return annotated(mod, WorkspaceAnnotator(mod))


annotate_workspace: Final = _annotate()


def partition_for_cutlass(
    mod: IRModule, annotate_codegen: bool = True, use_flash_mqa: bool = True
) -> IRModule:
    """What CUTLASS computes in functions of their own; attention that is written out is found.

    `use_flash_mqa` looks also for keys and values that are repeated over the heads.
    """
    rewrites = attention_rewrite_patterns()
    if use_flash_mqa:
        rewrites.insert(0, make_attention_rewrite_pattern("BSNH", "BSNH", False, True, True))
    functions = dict(mod.functions)
    for var, func in functions.items():
        if isinstance(func, Function):
            for pattern, rule in rewrites:
                func = rewrite_call(pattern, rule, func)
            functions[var] = func
    passes: list[Any] = [
        transform.FuseOpsByPattern(
            get_patterns_with_prefix("cutlass"), bind_constants=False,
            annotate_codegen=annotate_codegen,
        ),
        annotate_workspace,
        transform.AllocateWorkspace(),
    ]  # fmt: skip
    return Sequential(passes)(mod.with_functions(functions))

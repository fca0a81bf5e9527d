"""Convolutions and attention that cuDNN takes over."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential, declare_module_pass
from tvm.relax import transform
from tvm.relax.backend.library_checks import tensors
from tvm.relax.backend.pattern_registry import get_patterns_with_prefix, register_patterns
from tvm.relax.backend.patterns import make_conv2d_pattern, make_stacked_attention_pattern
from tvm.relax.backend.utils import has_leaking_intermediate_variables
from tvm.relax.backend.workspace import LibraryWorkspace, annotated
from tvm.relax.expr import Call
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext

_FORMATS: Final = (("NHWC", "OHWI"), ("NCHW", "OIHW"))
# Dimensions of queries, keys and values in one tensor, and the one that splits them.
_STACKED: Final = {"BS3NH": (3, 2), "SBN3H": (4, 3)}


def _check_conv2d(context: PatternCheckContext) -> bool:
    """Types and layouts that cuDNN has kernels for."""
    found = tensors(context, "input", "weight")
    if has_leaking_intermediate_variables(context) or found is None:
        return False
    root = context.annotated_expr["root"]
    assert isinstance(root, Call), "the root of these patterns is a convolution"
    attrs: Any = root.attrs
    (_, kind), (_, other) = found
    formats = (str(attrs["data_layout"]), str(attrs["kernel_layout"]))
    return kind == other and kind in ("float16", "float32") and formats in _FORMATS


def _check_stacked_attention(context: PatternCheckContext, layout: str) -> bool:
    """Whether the tensor is split into queries, keys and values where the layout says."""
    if has_leaking_intermediate_variables(context):
        return False
    dims, axis = _STACKED[layout]
    info = context.annotated_expr["stacked_qkv"].struct_info
    if not isinstance(info, TensorStructInfo) or info.ndim != dims:
        return False
    split: Any = context.annotated_expr.get("split")
    return split is None or int(split.attrs["axis"]) in (axis, axis - dims)


register_patterns(
    [
        ("cudnn.conv2d.nhwc_ohwi", *make_conv2d_pattern(), _check_conv2d),
        ("cudnn.conv2d.nhwc_ohwi_bias", *make_conv2d_pattern(True), _check_conv2d),
        ("cudnn.conv2d.nhwc_ohwi_bias_relu", *make_conv2d_pattern(True, "relax.nn.relu"),
         _check_conv2d),
        *[
            (
                f"cudnn.attention.{layout}",
                *make_stacked_attention_pattern(start_op="split", layout=layout),
                partial(_check_stacked_attention, layout=layout),
            )
            for layout in _STACKED
        ],
    ]
)


class WorkspaceAnnotator(LibraryWorkspace):
    """Says how many bytes functions for cuDNN need."""

    LIBRARY = "cudnn"


@declare_module_pass("annotate_workspace")
def _annotate(mod: IRModule, ctx: PassContext) -> IRModule:
    """Functions for cuDNN have the attribute WorkspaceSize, where they need memory."""
    return annotated(mod, WorkspaceAnnotator(mod))


annotate_workspace: Final = _annotate()


def partition_for_cudnn(mod: IRModule) -> IRModule:
    """What cuDNN computes in functions of their own, for its code generator."""
    patterns = get_patterns_with_prefix("cudnn")
    passes: list[Any] = [
        transform.FuseOpsByPattern(patterns, bind_constants=False, annotate_codegen=True),
        annotate_workspace,
        transform.AllocateWorkspace(),
    ]
    return Sequential(passes)(mod)

"""The passes in order: regions, marks, scales, integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential, module_pass
from tvm.relay.backend.compiled import bind_params_by_name
from tvm.relay.expr import Call, Constant, const
from tvm.relay.forward_rewrite import forward_rewrite
from tvm.relay.function import Function
from tvm.relay.transform import (
    CanonicalizeOps,
    FoldConstant,
    FoldScaleAxis,
    InferType,
    SimplifyInference,
)
from tvm.relay.transform.function_pass import expr_pass
from tvm.relay.traverse import transform
from tvm.relay.ty import TensorType
from tvm.relay.variables import free_vars
from tvm.tir.expr import IntImm

from . import _realize as _realize  # its rules hang on the operators
from ._annotate import attach_to_shared
from ._calibrate import calibrate
from ._partition_conversions import partition_conversions
from .config import (
    QAnnotateKind,
    QConfig,
    QuantizeContext,
    current_qconfig,
    kind2str,
    qconfig,
    quantize_context,
)

__all__ = [
    "QAnnotateKind", "QConfig", "QuantizeContext", "annotate", "current_qconfig", "kind2str",
    "partition", "prerequisite_optimize", "qconfig", "quantize", "quantize_context", "realize",
]  # fmt: skip


@expr_pass("QuantizePartition", opt_level=1)
def partition(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Quantized regions end with values that are stored as narrow integers."""
    assert isinstance(func, Function), "a pass gets functions"
    quantize_context().reset()
    return forward_rewrite(func, "FQPartitionRewrite")


@expr_pass("QuantizeAnnotate", opt_level=1)
def annotate(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Operands that are to be integers are marked; scales and bounds are parameters."""
    assert isinstance(func, Function), "a pass gets functions"
    quantize_context().reset()
    made = forward_rewrite(func, "FQAnnotateRewrite", shared=attach_to_shared)
    params = [*made.params, *free_vars(made)]
    return Function(params, made.body, made.ret_type, made.type_params, made.attrs, made.span)


@expr_pass("QuantizeRealize", opt_level=1)
def realize(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Integers replace the marks."""
    assert isinstance(func, Function), "a pass gets functions"
    return forward_rewrite(func, "FQRealizeRewrite")


@expr_pass("QuantizeFillConstants", opt_level=1)
def fill_constants(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """A number stretched to a shape is a constant: scales of weights are found in them."""

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not isinstance(new, Call) or getattr(new.op, "name", "") != "full":
            return new
        value, found = new.args[0], old.checked_type
        known = isinstance(found, TensorType) and all(isinstance(e, IntImm) for e in found.shape)
        if not known or not isinstance(value, Constant):
            return new
        assert isinstance(found, TensorType), "asked for above"
        filled = np.broadcast_to(value.data.numpy(), found.concrete_shape)
        return const(np.array(filled), str(found.dtype))

    return transform(func, rule)


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """The module with constants for parameters, and normalisation as factors.

    These are folded into weights, and biases become sums, at optimization level 3.
    """
    if params:
        main = mod["main"]
        assert isinstance(main, Function), "main is a function of Relay"
        mod = mod.clone()
        mod["main"] = bind_params_by_name(main, params)
    passes = Sequential(
        [SimplifyInference(), FoldConstant(), FoldScaleAxis(), CanonicalizeOps(),
         fill_constants(), FoldConstant()]
    )  # fmt: skip
    return passes(InferType()(mod))


def quantize(
    mod: IRModule, params: Mapping[str, Any] | None = None, dataset: Any = None
) -> IRModule:
    """The network in integers, as `current_qconfig` says; `dataset` gives inputs by name."""
    cfg = current_qconfig()
    kinds = ("disabled", "enabled", "fully_integral")
    if cfg.partition_conversions not in kinds:
        raise TVMError(
            f"partition_conversions={cfg.partition_conversions!r}; legal: {', '.join(kinds)}"
        )
    scales = module_pass(calibrate(dataset), opt_level=1, name="QuantizeCalibrate")
    passes = [partition(), annotate(), scales, InferType()]
    if not cfg.do_simulation:
        passes.append(realize())
    passes.append(FoldConstant())
    needed = ["QuantizeAnnotate", "QuantizeCalibrate", "QuantizeRealize"]
    mod = prerequisite_optimize(mod, params)  # at the user's own level
    with PassContext(opt_level=3, required_pass=needed), QuantizeContext():
        made = Sequential(passes)(mod)
    if cfg.partition_conversions == "disabled":
        return made
    dtypes = {cfg.dtype_input, cfg.dtype_weight, cfg.dtype_activation}
    return partition_conversions(made, dtypes, cfg.partition_conversions == "fully_integral")

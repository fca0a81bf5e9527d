"""The passes that compile a graph for a GPU of any kind."""

from __future__ import annotations

import sys
from typing import Any

from tvm import dlight
from tvm.ir.transform import Pass
from tvm.relax import transform as t
from tvm.relax.backend.default_pipeline import (
    DefaultPipeline,
    dataflow_lower_passes,
    finalize_passes,
)
from tvm.relax.backend.dispatch_sampling import DispatchSampling
from tvm.relax.backend.dispatch_sort_scan import DispatchSortScan
from tvm.relax.backend.gpu_generic.products import AttentionAsProducts
from tvm.relax.op.for_programs import FOR_PROGRAMS
from tvm.relax.transform.annotate_tir_op_pattern import AnnotateFusionPattern
from tvm.relax.transform.batch_norm_as_scale import BatchNormAsScale
from tvm.relax.transform.compare_extents import CompareExtents
from tvm.relax.transform.dead_code_elimination import RemoveUnusedWork
from tvm.relax.transform.fit_operands import FitOperands
from tvm.relax.transform.implicit_broadcast import ImplicitBroadcast
from tvm.relax.transform.lambda_lift import LiftLocalFunctions
from tvm.relax.transform.pads_of_convolutions import PadsOfConvolutions
from tvm.target.target import Target

__all__ = [
    "dataflow_lower_passes", "finalize_passes", "get_default_pipeline", "legalize_passes",
    "library_dispatch_passes",
]  # fmt: skip


def library_dispatch_passes(target: Target) -> list[Pass]:
    """Kernels by the target for what loops alone do badly."""
    found: list[Any] = [
        DispatchSampling(),  # draws
        DispatchSortScan(),  # sorts and running sums, of which a GPU needs other kernels
    ]
    return found


def legalize_passes(target: Target) -> list[Pass]:
    """From operators to scheduled kernels."""
    return [
        LiftLocalFunctions(),  # local functions are compiled as those of the module are
        FitOperands(),  # whose extents are open
        CompareExtents(),  # which operators take for equal
        ImplicitBroadcast(),  # of what JAX broadcasts by a call
        PadsOfConvolutions(),  # which need no copy of the data
        t.FoldBatchnormToConv2D(keep_training=True),  # while operators are still known by name
        BatchNormAsScale(),  # batch norms left: a multiply, an add
        t.FoldConstant(),  # weights transposed, scaled, reshaped, once and for all
        AttentionAsProducts(),  # of which each gets a schedule of its own
        t.LowerShapeToTensor(),  # sizes that are read as numbers become kernels
        t.LegalizeOps(FOR_PROGRAMS),  # and so do operators
        AnnotateFusionPattern(),  # what fusion goes by
        t.FoldConstant(),  # kernels of constants that had no operator form
        t.FuseOps(wide=True),  # groups of kernels that share a loop nest
        t.FuseTIR(),  # one kernel a group
        t.RewriteDataflowReshape(),  # after fusion, which may have made use of a reshape
        RemoveUnusedWork(),  # kernels that were fused or folded away
        dlight.ApplyDefaultSchedule(*dlight.gpu.default_rules()),  # loops become threads
    ]


def get_default_pipeline(target: Target) -> DefaultPipeline:
    """All of the passes above."""
    return DefaultPipeline(target, sys.modules[__name__])

"""The passes that compile a graph for a CPU."""

from __future__ import annotations

import sys

from tvm import dlight
from tvm.ir.transform import Pass
from tvm.relax import transform as t
from tvm.relax.backend.default_pipeline import (
    DefaultPipeline,
    dataflow_lower_passes,
    finalize_passes,
)
from tvm.relax.backend.kept_schedules import ApplyKeptSchedule
from tvm.relax.op.for_programs import FOR_PROGRAMS
from tvm.relax.op.nn.attention import BY_HEADS
from tvm.relax.transform.annotate_tir_op_pattern import AnnotateFusionPattern
from tvm.relax.transform.attach_attr_layout_free_buffers import MarkConstantWeights
from tvm.relax.transform.batch_norm_as_scale import BatchNormAsScale
from tvm.relax.transform.channels_first import ChannelsFirst
from tvm.relax.transform.compare_extents import CompareExtents
from tvm.relax.transform.conv_transpose_as_conv import ConvTransposeAsConv
from tvm.relax.transform.dead_code_elimination import RemoveUnusedWork
from tvm.relax.transform.few_bits_kernels import FewBitsKernels
from tvm.relax.transform.fit_operands import FitOperands
from tvm.relax.transform.fold_dequantize import FoldDequantize
from tvm.relax.transform.fuse_transpose_matmul import FuseTransposeMatvec
from tvm.relax.transform.group_reshapes import GroupReshapes
from tvm.relax.transform.implicit_broadcast import ImplicitBroadcast
from tvm.relax.transform.integer_layouts import IntegerLayouts
from tvm.relax.transform.integer_products import IntegerProducts, product_form
from tvm.relax.transform.keep_few_bits import KeepFewBits
from tvm.relax.transform.lambda_lift import LiftLocalFunctions
from tvm.relax.transform.merge_forms import MergeForms
from tvm.relax.transform.merge_kernels import MergeKernels
from tvm.relax.transform.open_pads import OpenPadsOfConvolutions
from tvm.relax.transform.pads_of_convolutions import PadsOfConvolutions
from tvm.relax.transform.plain_kernel_names import PlainKernelNames
from tvm.relax.transform.tile_attention import TileAttention
from tvm.relax.transform.tile_batch import TileBatch
from tvm.relax.transform.wide_sums import WideSums
from tvm.relax.transform.winograd_conv2d import WinogradConv2D
from tvm.target.target import Target
from tvm.tir.transform.name_extents import NameExtents
from tvm.tir.transform.plain_indices import PlainIndices
from tvm.tir.transform.softmax_exponentials import SoftmaxExponentials
from tvm.tir.transform.softmax_quotients import SoftmaxQuotients
from tvm.tir.transform.softplus_logarithms import SoftplusLogarithms

__all__ = [
    "dataflow_lower_passes", "finalize_passes", "get_default_pipeline", "kernel_passes",
    "legalize_passes", "library_dispatch_passes", "schedule_passes",
]  # fmt: skip


def library_dispatch_passes(target: Target) -> list[Pass]:
    """Nothing: kernels of a CPU are chosen by their schedule."""
    return []


def legalize_passes(target: Target) -> list[Pass]:
    """From operators to scheduled kernels."""
    return [*kernel_passes(target), *schedule_passes(target)]


def kernel_passes(target: Target) -> list[Pass]:
    """From operators to fused kernels, which have no schedule yet."""
    return [
        LiftLocalFunctions(),  # local functions are compiled as those of the module are
        FitOperands(),  # whose extents are open
        CompareExtents(),  # which operators take for equal
        ImplicitBroadcast(),  # of what JAX broadcasts by a call
        PadsOfConvolutions(),  # which need no copy of the data
        ChannelsFirst(),  # of convolutions of floats, as rules know them
        t.FoldBatchnormToConv2D(keep_training=True),  # while operators are still known by name
        BatchNormAsScale(),  # batch norms left: a multiply, an add
        *([FoldDequantize()] if product_form(target) else []),  # integers are multiplied as such
        KeepFewBits(),  # of weights, which a product widens
        FewBitsKernels(target),  # by instructions for bytes, where there are any
        WideSums(target.cpu),  # of half floats, for which there are no vector sums
        t.FoldConstant(),  # weights transposed, scaled, reshaped, once and for all
        TileAttention(target.cpu),  # by blocks of queries, where its scores leave them
        *([IntegerLayouts()] if product_form(target) else []),  # channels last, for groups of them
        IntegerProducts(target),  # as bytes, where the CPU multiplies these
        TileBatch(target.cpu),  # image by image, where a batch leaves the caches
        ConvTransposeAsConv(),  # in forms that are fastest on a CPU, now that weights are constants
        WinogradConv2D(target.cpu),
        FuseTransposeMatvec(),  # weights that are no constants are read as they lie
        t.LowerShapeToTensor(),  # sizes that are read as numbers become kernels
        OpenPadsOfConvolutions(),  # whose width only running tells
        # operators, as rules know them
        t.LegalizeOps(BY_HEADS | FOR_PROGRAMS),
        GroupReshapes(),  # that fusion, and rules, can see through
        AnnotateFusionPattern(),  # what fusion goes by
        t.FoldConstant(),  # kernels of constants that had no operator form
        t.FuseOps(wide=True),  # groups of kernels that share a loop nest
        t.FuseTIR(),  # one kernel a group
        t.RewriteDataflowReshape(),  # after fusion, which may have made use of a reshape
        RemoveUnusedWork(),  # kernels that were fused or folded away
        MarkConstantWeights(),  # operands of products that may lie as the kernel likes
        RemoveUnusedWork(),  # kernels that are called with weights only
        PlainKernelNames(),  # which leave their names to those made of them
        PlainIndices(),  # a wrong index stays wrong when what it picks from is inlined
        SoftmaxQuotients(),  # one division a row
        SoftmaxExponentials(),  # which are no subnormal numbers
        SoftplusLogarithms(),  # which keep digits far below zero
        NameExtents(),  # rules need not see through how a size was computed
        MergeKernels(),  # which differed in that alone
    ]


def schedule_passes(target: Target) -> list[Pass]:
    """Schedules for all kernels that have none, and weights as the schedules want them."""
    return [
        ApplyKeptSchedule("cpu", *dlight.cpu.default_rules()),
        t.SplitLayoutRewritePreproc(),  # what packs weights becomes a kernel of its own
        t.FoldConstant(),  # and packs them now
        RemoveUnusedWork(),  # kernels that have packed
        PlainKernelNames(),  # what takes packed weights is called as it was
        MergeForms(),  # last: rules and packing want to know how many channels there are
    ]


def get_default_pipeline(target: Target) -> DefaultPipeline:
    """All of the passes above."""
    return DefaultPipeline(target, sys.modules[__name__])

"""Passes over Relay."""

from tvm.support.lazy import lazy_names

from . import flexible_shape as flexible_shape
from . import infer_layout_utils as infer_layout_utils
from . import mixed_precision as mixed_precision
from .alter_layout import AlterOpLayout as AlterOpLayout
from .alter_layout import ConvertLayout as ConvertLayout
from .alter_layout import LayoutConfig as LayoutConfig
from .annotate_spans import AnnotateSpans as AnnotateSpans
from .annotate_target import AnnotateTarget as AnnotateTarget
from .annotate_used_memory import AnnotateUsedMemory as AnnotateUsedMemory
from .basic_block_normal_form import ToBasicBlockNormalForm as ToBasicBlockNormalForm
from .canonicalize_cast import CanonicalizeCast as CanonicalizeCast
from .capture_post_dfs_index import CapturePostDfsIndexInSpans as CapturePostDfsIndexInSpans
from .change_batch import ChangeBatch as ChangeBatch
from .combine_parallel import BatchingOps as BatchingOps
from .combine_parallel import CombineParallelBatchMatmul as CombineParallelBatchMatmul
from .combine_parallel import CombineParallelConv2D as CombineParallelConv2D
from .combine_parallel import CombineParallelDense as CombineParallelDense
from .combine_parallel import CombineParallelOpBatch as CombineParallelOpBatch
from .compiler_functions import (
    InlineCompilerFunctionsBoundTo as InlineCompilerFunctionsBoundTo,
)
from .compiler_functions import MarkCompilerFunctionsAsExtern as MarkCompilerFunctionsAsExtern
from .compiler_functions import (
    OutlineCompilerFunctionsWithExistingGlobalSymbols as OutlineCompilerFunctionsWithExistingGlobalSymbols,  # noqa: E501
)
from .dead_code_elimination import DeadCodeElimination as DeadCodeElimination
from .defunctionalization import Defunctionalization as Defunctionalization
from .eliminate_common_subexpr import EliminateCommonSubexpr as EliminateCommonSubexpr
from .fake_quantization_to_integer import FakeQuantizationToInteger as FakeQuantizationToInteger
from .flatten_atrous_conv import FlattenAtrousConv as FlattenAtrousConv
from .flexible_shape import FlexibleShapeDispatch as FlexibleShapeDispatch
from .fold_constant import FoldConstant as FoldConstant
from .fold_constant import FoldConstantExpr as FoldConstantExpr
from .fold_explicit_padding import FoldExplicitPadding as FoldExplicitPadding
from .fold_scale_axis import BackwardFoldScaleAxis as BackwardFoldScaleAxis
from .fold_scale_axis import FoldScaleAxis as FoldScaleAxis
from .fold_scale_axis import ForwardFoldScaleAxis as ForwardFoldScaleAxis
from .function_pass import FunctionPass as FunctionPass
from .function_pass import build_config as build_config
from .function_pass import function_pass as function_pass
from .fuse_ops import DefuseOps as DefuseOps
from .fuse_ops import FuseOps as FuseOps
from .gradient import FirstOrderGradient as FirstOrderGradient
from .gradient import gradient as gradient
from .infer_type import InferType as InferType
from .infer_type import InferTypeLocal as InferTypeLocal
from .label_ops import LabelOps as LabelOps
from .lambda_lift import LambdaLift as LambdaLift
from .lazy_gradient_init import LazyGradientInit as LazyGradientInit
from .manifest_lifetimes import ManifestLifetimes as ManifestLifetimes
from .merge_compiler_regions import MergeCompilerRegions as MergeCompilerRegions
from .merge_composite import MergeComposite as MergeComposite
from .modules import EtaExpand as EtaExpand
from .modules import Inline as Inline
from .modules import RemoveUnusedFunctions as RemoveUnusedFunctions
from .normal_forms import ToANormalForm as ToANormalForm
from .normal_forms import ToANormalFormExpr as ToANormalFormExpr
from .normal_forms import ToGraphNormalForm as ToGraphNormalForm
from .partial_evaluate import PartialEvaluate as PartialEvaluate
from .partition_graph import PartitionGraph as PartitionGraph
from .plan_devices import PlanDevices as PlanDevices
from .recast import recast as recast
from .rewrites import CanonicalizeOps as CanonicalizeOps
from .rewrites import DivToMul as DivToMul
from .rewrites import DynamicToStatic as DynamicToStatic
from .rewrites import FastMath as FastMath
from .rewrites import Legalize as Legalize
from .simplify_expr import SimplifyExpr as SimplifyExpr
from .simplify_fc_transpose import SimplifyFCTranspose as SimplifyFCTranspose
from .simplify_inference import SimplifyInference as SimplifyInference
from .split_args import SplitArgs as SplitArgs
from .to_cps import ToCPS as ToCPS
from .to_cps import to_cps as to_cps
from .to_cps import un_cps as un_cps
from .to_mixed_precision import ToMixedPrecision as ToMixedPrecision
from .to_sparse import Conv2dToSparse as Conv2dToSparse
from .to_sparse import Conv2dToSparse2 as Conv2dToSparse2
from .to_sparse import DenseToSparse as DenseToSparse

# It stands on passes of this package.
_HOMES = {"CollagePartition": "tvm.relay.collage.partitioner:CollagePartition"}
__getattr__ = lazy_names(__name__, _HOMES)

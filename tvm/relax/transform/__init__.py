"""Passes over Relax functions; each is one file, named for it."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_HOME = "tvm.relax.transform."
_HOMES = {
    "AdjustMatmulOrder": _HOME + "adjust_matmul_order:AdjustMatmulOrder",
    "AllocateWorkspace": _HOME + "allocate_workspace:AllocateWorkspace",
    "AnnotateTIROpPattern": _HOME + "annotate_tir_op_pattern:AnnotateTIROpPattern",
    "AttachAttrLayoutFreeBuffers": (
        _HOME + "attach_attr_layout_free_buffers:AttachAttrLayoutFreeBuffers"
    ),
    "AttachGlobalSymbol": _HOME + "attach_global_symbol:AttachGlobalSymbol",
    "BindParams": _HOME + "bind_params:BindParams",
    "BindSymbolicVars": _HOME + "bind_params:BindSymbolicVars",
    "BundleModelParams": _HOME + "bundle_model_params:BundleModelParams",
    "CallTIRRewrite": _HOME + "call_tir_rewrite:CallTIRRewrite",
    "CanonicalizeBindings": _HOME + "canonicalize_bindings:CanonicalizeBindings",
    "CombineParallelMatmul": _HOME + "combine_parallel_matmul:CombineParallelMatmul",
    "ConvertLayout": _HOME + "convert_layout:ConvertLayout",
    "ConvertToDataflow": _HOME + "convert_to_dataflow:ConvertToDataflow",
    "DataflowBlockPass": _HOME + "pass_form:DataflowBlockPass",
    "DeadCodeElimination": _HOME + "dead_code_elimination:DeadCodeElimination",
    "DecomposeOpsForInference": _HOME + "decompose_ops:DecomposeOpsForInference",
    "DecomposeOpsForTraining": _HOME + "decompose_ops:DecomposeOpsForTraining",
    "EliminateCommonSubexpr": _HOME + "eliminate_common_subexpr:EliminateCommonSubexpr",
    "ExpandMatmulOfSum": _HOME + "expand_matmul_of_sum:ExpandMatmulOfSum",
    "ExpandTupleArguments": _HOME + "expand_tuple_arguments:ExpandTupleArguments",
    "FastMathCodeGenerator": _HOME + "fast_math:FastMathCodeGenerator",
    "FastMathTransform": _HOME + "fast_math:FastMathTransform",
    "FewShotTuning": _HOME + "few_shot_tuning:FewShotTuning",
    "FoldBatchnormToConv2D": (
        _HOME + "fold_batch_norm_to_conv2d_for_inference:FoldBatchnormToConv2D"
    ),
    "FoldConstant": _HOME + "fold_constant:FoldConstant",
    "FunctionPass": _HOME + "pass_form:FunctionPass",
    "FuseOps": _HOME + "fuse_ops:FuseOps",
    "FuseOpsByPattern": _HOME + "fuse_ops_by_pattern:FuseOpsByPattern",
    "FuseTIR": _HOME + "fuse_tir:FuseTIR",
    "FuseTransposeMatmul": _HOME + "fuse_transpose_matmul:FuseTransposeMatmul",
    "FusionPattern": _HOME + "fuse_ops_by_pattern:FusionPattern",
    "Gradient": _HOME + "gradient:Gradient",
    "InlinePrivateFunctions": _HOME + "inline_private_functions:InlinePrivateFunctions",
    "LambdaLift": _HOME + "lambda_lift:LambdaLift",
    "LazyTransformParams": _HOME + "lazy_transform_params:LazyTransformParams",
    "LegalizeOps": _HOME + "legalize_ops.legalizer:LegalizeOps",
    "LiftTransformParams": _HOME + "lift_transform_params:LiftTransformParams",
    "LowerShapeToTensor": _HOME + "lower_shape_to_tensor:LowerShapeToTensor",
    "MergeCompositeFunctions": _HOME + "merge_composite_functions:MergeCompositeFunctions",
    "MetaScheduleApplyDatabase": _HOME + "meta_schedule:MetaScheduleApplyDatabase",
    "MetaScheduleTuneIRMod": _HOME + "meta_schedule:MetaScheduleTuneIRMod",
    "MetaScheduleTuneTIR": _HOME + "meta_schedule:MetaScheduleTuneTIR",
    "Normalize": _HOME + "normalize:Normalize",
    "NormalizeGlobalVar": _HOME + "normalize_global_var:NormalizeGlobalVar",
    "PatternCheckContext": _HOME + "fuse_ops_by_pattern:PatternCheckContext",
    "RemovePurityChecking": _HOME + "remove_purity_checking:RemovePurityChecking",
    "RemoveRedundantReshape": _HOME + "remove_redundant_reshape:RemoveRedundantReshape",
    "RemoveUnusedParameters": _HOME + "remove_unused_parameters:RemoveUnusedParameters",
    "ReorderPermuteDimsAfterConcat": (
        _HOME + "reorder_permute_dims_after_concat:ReorderPermuteDimsAfterConcat"
    ),
    "ReorderTakeAfterMatmul": _HOME + "reorder_take_after_matmul:ReorderTakeAfterMatmul",
    "RewriteDataflowReshape": _HOME + "rewrite_dataflow_reshape:RewriteDataflowReshape",
    "ToMixedPrecision": _HOME + "to_mixed_precision:ToMixedPrecision",
    "ToNonDataflow": _HOME + "to_non_dataflow:ToNonDataflow",
    "TopologicalSort": _HOME + "topological_sort:TopologicalSort",
    "UpdateParamStructInfo": _HOME + "update_param_struct_info:UpdateParamStructInfo",
    "dataflowblock_pass": _HOME + "pass_form:dataflowblock_pass",
    "function_pass": _HOME + "pass_form:function_pass",
    "ComputePrimValue": _HOME + "compute_prim_value:ComputePrimValue",
    "KillAfterLastUse": _HOME + "kill_after_last_use:KillAfterLastUse",
    "LowerAllocTensor": _HOME + "lower_alloc_tensor:LowerAllocTensor",
    "LowerRuntimeBuiltin": _HOME + "lower_runtime_builtin:LowerRuntimeBuiltin",
    "UpdateVDevice": _HOME + "update_vdevice:UpdateVDevice",
    "VMBuiltinLower": _HOME + "lower_runtime_builtin:VMBuiltinLower",
    "RemoveUnusedOutputs": _HOME + "remove_unused_outputs:RemoveUnusedOutputs",
    "StaticPlanBlockMemory": _HOME + "static_plan_block_memory:StaticPlanBlockMemory",
    "Quantize": _HOME + "quantize:Quantize",
    "RealizeVDevice": _HOME + "realize_vdevice:RealizeVDevice",
    "ForwardCollector": _HOME + "lazy_transform_params:ForwardCollector",
    "LivenessAnalysis": _HOME + "lazy_transform_params:LivenessAnalysis",
    "LazyTransformParamsFuncCreator": (
        _HOME + "lazy_transform_params:LazyTransformParamsFuncCreator"
    ),
    "LazyInputMutator": _HOME + "lazy_transform_params:LazyInputMutator",
    "LazyOutputMutator": _HOME + "lazy_transform_params:LazyOutputMutator",
    "TVMStructFieldKind": _HOME + "legalize_ops.inspect_op:TVMStructFieldKind",
    "DataflowUseInplaceCalls": _HOME + "dataflow_inplace:DataflowUseInplaceCalls",
    "AlterOpImpl": _HOME + "alter_op_impl:AlterOpImpl",
    "OptimizeLayoutTransform": _HOME + "optimize_layout_transform:OptimizeLayoutTransform",
    "RunCodegen": _HOME + "run_codegen:RunCodegen",
    "AttachExternModules": _HOME + "attach_external_modules:AttachExternModules",
    "SplitCallTIRByPattern": _HOME + "split_call_tir_by_pattern:SplitCallTIRByPattern",
    "SplitLayoutRewritePreproc": _HOME + "split_layout_rewrite_preproc:SplitLayoutRewritePreproc",
    "LowerGPUIPCAllocStorage": _HOME + "lower_gpu_ipc_alloc_storage:LowerGPUIPCAllocStorage",
    "IPCAllReduceRewrite": _HOME + "ipc_allreduce_rewrite:IPCAllReduceRewrite",
    "LazyGetInput": _HOME + "lazy_params:LazyGetInput",
    "LazySetOutput": _HOME + "lazy_params:LazySetOutput",
    "RewriteCUDAGraph": _HOME + "rewrite_cuda_graph:RewriteCUDAGraph",
    "VMShapeLower": _HOME + "vm_shape_lower:VMShapeLower",
}

if TYPE_CHECKING:
    from .adjust_matmul_order import AdjustMatmulOrder as AdjustMatmulOrder
    from .allocate_workspace import AllocateWorkspace as AllocateWorkspace
    from .alter_op_impl import AlterOpImpl as AlterOpImpl
    from .annotate_tir_op_pattern import AnnotateTIROpPattern as AnnotateTIROpPattern
    from .attach_attr_layout_free_buffers import (
        AttachAttrLayoutFreeBuffers as AttachAttrLayoutFreeBuffers,
    )
    from .attach_external_modules import AttachExternModules as AttachExternModules
    from .attach_global_symbol import AttachGlobalSymbol as AttachGlobalSymbol
    from .bind_params import BindParams as BindParams
    from .bind_params import BindSymbolicVars as BindSymbolicVars
    from .bundle_model_params import BundleModelParams as BundleModelParams
    from .call_tir_rewrite import CallTIRRewrite as CallTIRRewrite
    from .canonicalize_bindings import CanonicalizeBindings as CanonicalizeBindings
    from .combine_parallel_matmul import CombineParallelMatmul as CombineParallelMatmul
    from .compute_prim_value import ComputePrimValue as ComputePrimValue
    from .convert_layout import ConvertLayout as ConvertLayout
    from .convert_to_dataflow import ConvertToDataflow as ConvertToDataflow
    from .dataflow_inplace import DataflowUseInplaceCalls as DataflowUseInplaceCalls
    from .dead_code_elimination import DeadCodeElimination as DeadCodeElimination
    from .decompose_ops import DecomposeOpsForInference as DecomposeOpsForInference
    from .decompose_ops import DecomposeOpsForTraining as DecomposeOpsForTraining
    from .eliminate_common_subexpr import EliminateCommonSubexpr as EliminateCommonSubexpr
    from .expand_matmul_of_sum import ExpandMatmulOfSum as ExpandMatmulOfSum
    from .expand_tuple_arguments import ExpandTupleArguments as ExpandTupleArguments
    from .fast_math import FastMathCodeGenerator as FastMathCodeGenerator
    from .fast_math import FastMathTransform as FastMathTransform
    from .few_shot_tuning import FewShotTuning as FewShotTuning
    from .fold_batch_norm_to_conv2d_for_inference import (
        FoldBatchnormToConv2D as FoldBatchnormToConv2D,
    )
    from .fold_constant import FoldConstant as FoldConstant
    from .fuse_ops import FuseOps as FuseOps
    from .fuse_ops_by_pattern import FuseOpsByPattern as FuseOpsByPattern
    from .fuse_ops_by_pattern import FusionPattern as FusionPattern
    from .fuse_ops_by_pattern import PatternCheckContext as PatternCheckContext
    from .fuse_tir import FuseTIR as FuseTIR
    from .fuse_transpose_matmul import FuseTransposeMatmul as FuseTransposeMatmul
    from .gradient import Gradient as Gradient
    from .inline_private_functions import InlinePrivateFunctions as InlinePrivateFunctions
    from .ipc_allreduce_rewrite import IPCAllReduceRewrite as IPCAllReduceRewrite
    from .kill_after_last_use import KillAfterLastUse as KillAfterLastUse
    from .lambda_lift import LambdaLift as LambdaLift
    from .lazy_params import LazyGetInput as LazyGetInput
    from .lazy_params import LazySetOutput as LazySetOutput
    from .lazy_transform_params import ForwardCollector as ForwardCollector
    from .lazy_transform_params import LazyInputMutator as LazyInputMutator
    from .lazy_transform_params import LazyOutputMutator as LazyOutputMutator
    from .lazy_transform_params import LazyTransformParams as LazyTransformParams
    from .lazy_transform_params import (
        LazyTransformParamsFuncCreator as LazyTransformParamsFuncCreator,
    )
    from .lazy_transform_params import LivenessAnalysis as LivenessAnalysis
    from .legalize_ops.inspect_op import TVMStructFieldKind as TVMStructFieldKind
    from .legalize_ops.legalizer import LegalizeOps as LegalizeOps
    from .lift_transform_params import LiftTransformParams as LiftTransformParams
    from .lower_alloc_tensor import LowerAllocTensor as LowerAllocTensor
    from .lower_gpu_ipc_alloc_storage import LowerGPUIPCAllocStorage as LowerGPUIPCAllocStorage
    from .lower_runtime_builtin import LowerRuntimeBuiltin as LowerRuntimeBuiltin
    from .lower_runtime_builtin import VMBuiltinLower as VMBuiltinLower
    from .lower_shape_to_tensor import LowerShapeToTensor as LowerShapeToTensor
    from .merge_composite_functions import MergeCompositeFunctions as MergeCompositeFunctions
    from .meta_schedule import MetaScheduleApplyDatabase as MetaScheduleApplyDatabase
    from .meta_schedule import MetaScheduleTuneIRMod as MetaScheduleTuneIRMod
    from .meta_schedule import MetaScheduleTuneTIR as MetaScheduleTuneTIR
    from .normalize import Normalize as Normalize
    from .normalize_global_var import NormalizeGlobalVar as NormalizeGlobalVar
    from .optimize_layout_transform import OptimizeLayoutTransform as OptimizeLayoutTransform
    from .pass_form import DataflowBlockPass as DataflowBlockPass
    from .pass_form import FunctionPass as FunctionPass
    from .pass_form import dataflowblock_pass as dataflowblock_pass
    from .pass_form import function_pass as function_pass
    from .quantize import Quantize as Quantize
    from .realize_vdevice import RealizeVDevice as RealizeVDevice
    from .remove_purity_checking import RemovePurityChecking as RemovePurityChecking
    from .remove_redundant_reshape import RemoveRedundantReshape as RemoveRedundantReshape
    from .remove_unused_outputs import RemoveUnusedOutputs as RemoveUnusedOutputs
    from .remove_unused_parameters import RemoveUnusedParameters as RemoveUnusedParameters
    from .reorder_permute_dims_after_concat import (
        ReorderPermuteDimsAfterConcat as ReorderPermuteDimsAfterConcat,
    )
    from .reorder_take_after_matmul import ReorderTakeAfterMatmul as ReorderTakeAfterMatmul
    from .rewrite_cuda_graph import RewriteCUDAGraph as RewriteCUDAGraph
    from .rewrite_dataflow_reshape import RewriteDataflowReshape as RewriteDataflowReshape
    from .run_codegen import RunCodegen as RunCodegen
    from .split_call_tir_by_pattern import SplitCallTIRByPattern as SplitCallTIRByPattern
    from .split_layout_rewrite_preproc import SplitLayoutRewritePreproc as SplitLayoutRewritePreproc
    from .static_plan_block_memory import StaticPlanBlockMemory as StaticPlanBlockMemory
    from .to_mixed_precision import ToMixedPrecision as ToMixedPrecision
    from .to_non_dataflow import ToNonDataflow as ToNonDataflow
    from .topological_sort import TopologicalSort as TopologicalSort
    from .update_param_struct_info import UpdateParamStructInfo as UpdateParamStructInfo
    from .update_vdevice import UpdateVDevice as UpdateVDevice
    from .vm_shape_lower import VMShapeLower as VMShapeLower
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__dir__ = lazy_dir(__name__, *_HOMES)
__all__ = [*_HOMES]

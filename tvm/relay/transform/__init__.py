"""Passes over Relay."""

from .dead_code_elimination import DeadCodeElimination as DeadCodeElimination
from .eliminate_common_subexpr import EliminateCommonSubexpr as EliminateCommonSubexpr
from .fold_constant import FoldConstant as FoldConstant
from .fold_constant import FoldConstantExpr as FoldConstantExpr
from .function_pass import FunctionPass as FunctionPass
from .function_pass import function_pass as function_pass
from .fuse_ops import DefuseOps as DefuseOps
from .fuse_ops import FuseOps as FuseOps
from .infer_type import InferType as InferType
from .infer_type import InferTypeLocal as InferTypeLocal
from .modules import EtaExpand as EtaExpand
from .modules import Inline as Inline
from .modules import RemoveUnusedFunctions as RemoveUnusedFunctions
from .normal_forms import ToANormalForm as ToANormalForm
from .normal_forms import ToANormalFormExpr as ToANormalFormExpr
from .normal_forms import ToGraphNormalForm as ToGraphNormalForm
from .rewrites import AlterOpLayout as AlterOpLayout
from .rewrites import CanonicalizeOps as CanonicalizeOps
from .rewrites import DivToMul as DivToMul
from .rewrites import DynamicToStatic as DynamicToStatic
from .rewrites import FastMath as FastMath
from .rewrites import Legalize as Legalize
from .rewrites import SimplifyExpr as SimplifyExpr
from .simplify_inference import SimplifyInference as SimplifyInference
from .to_mixed_precision import ToMixedPrecision as ToMixedPrecision

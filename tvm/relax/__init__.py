"""Relax: graphs of tensor operators with symbolic shapes. Words at once, the rest on demand."""

from typing import TYPE_CHECKING

from tvm.ir.expr import GlobalVar, StructInfo
from tvm.ir.type import FuncType, TupleType, Type
from tvm.support.lazy import lazy_names

from . import global_var_uses as global_var_uses
from . import operators as operators
from .base_expr import ExprWithOp, Id, LeafExpr
from .expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    const,
    convert_to_expr,
    extern,
    get_shape_of,
    make_shape,
    te_tensor,
)
from .struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from .type import ObjectType, PackedFuncType, ShapeType, TensorType

_HOMES = {
    "args_converter": "tvm.relax.type_converter:args_converter",
    "BlockBuilder": "tvm.relax.block_builder:BlockBuilder",
    "ExprFunctor": "tvm.relax.expr_functor:ExprFunctor",
    "PyExprVisitor": "tvm.relax.expr_functor:PyExprVisitor",
    "PyExprMutator": "tvm.relax.expr_functor:PyExprMutator",
    "VirtualMachine": "tvm.relax.vm:VirtualMachine",
    "VMInstrumentReturnKind": "tvm.relax.vm:VMInstrumentReturnKind",
    "ExecBuilder": "tvm.relax.exec_builder:ExecBuilder",
    "BasePyModule": "tvm.relax.base_py_module:BasePyModule",
    "RelaxToPyFuncConverter": (
        "tvm.relax.relax_to_pyfunc_converter:RelaxToPyFuncConverter"
    ),
    "build": "tvm.relax.vm_build:build",
    "VMExecutable": "tvm.relax.vm:VMExecutable",
    "call_tir": "tvm.relax.op.base:call_tir",
    "call_pure_packed": "tvm.relax.op.base:call_pure_packed",
    "call_dps_packed": "tvm.relax.op.base:call_dps_packed",
    "call_tir_inplace": "tvm.relax.op.base:call_tir_inplace",
    "call_tir_with_grad": "tvm.relax.op.base:call_tir_with_grad",
    "get_pipeline": "tvm.relax.pipeline:get_pipeline",
    "get_default_pipeline": "tvm.relax.pipeline:get_default_pipeline",
    "register_pipeline": "tvm.relax.pipeline:register_pipeline",
    "DataflowBlockRewrite": "tvm.relax.binding_rewrite:DataflowBlockRewrite",
}

if TYPE_CHECKING:
    from . import analysis as analysis
    from . import op as op
    from . import transform as transform
    from .block_builder import BlockBuilder as BlockBuilder
    from .expr_functor import PyExprMutator as PyExprMutator
    from .expr_functor import PyExprVisitor as PyExprVisitor
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Binding", "BindingBlock", "Call", "Constant", "DataTypeImm", "DataflowBlock", "DataflowVar",
    "Expr", "ExprWithOp", "ExternFunc", "FuncStructInfo", "FuncType", "Function", "GlobalVar", "Id",
    "If",
    "LeafExpr", "MatchCast", "ObjectStructInfo", "ObjectType", "PackedFuncType", "PrimStructInfo",
    "PrimValue", "SeqExpr", "ShapeExpr", "ShapeStructInfo", "ShapeType", "StringImm", "StructInfo",
    "TensorStructInfo", "TensorType", "Tuple", "TupleGetItem", "TupleStructInfo",
    "TupleType", "Type", "Var",
    "VarBinding", "const", "convert_to_expr", "extern", "get_shape_of", "make_shape", "te_tensor",
]  # fmt: skip

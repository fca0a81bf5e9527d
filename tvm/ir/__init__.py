"""The IR that all dialects share: nodes, spans, types, operators, functions, modules, passes."""

from typing import TYPE_CHECKING

from tvm.ffi.object import Object
from tvm.support.lazy import lazy_names

from .affine_type import AffineType, TensorAffineType, TupleAffineType
from .attrs import Attrs, DictAttrs
from .env_func import EnvFunc
from .expr import BaseExpr, GlobalVar, PrimExpr, PrimExprConvertible, Range, RelaxExpr, StructInfo
from .function import BaseFunc, CallingConv
from .global_info import DummyGlobalInfo, GlobalInfo, VDevice
from .host_tensor import HostTensor
from .module import IRModule
from .node import Node, make_node
from .op import Op, register_intrin_lowering, register_op_attr
from .sample_attrs import SampleAttrs as _SampleAttrs
from .span import SequentialSpan, SourceName, Span
from .supply import GlobalVarSupply, NameSupply
from .type import FuncType, PointerType, PrimType, TensorMapType, TupleType, Type

_HOMES = {
    # Relay's types and data, which scripts of v0.18 find here
    "TensorType": "tvm.relay.ty:TensorType",
    "TypeVar": "tvm.relay.ty:TypeVar",
    "GlobalTypeVar": "tvm.relay.ty:GlobalTypeVar",
    "IncompleteType": "tvm.relay.ty:IncompleteType",
    "RelayRefType": "tvm.relay.ty:RefType",
    "TypeKind": "tvm.relay.ty:TypeKind",
    "RelayExpr": "tvm.relay.expr:RelayExpr",
    "Constructor": "tvm.relay.adt:Constructor",
    "TypeData": "tvm.relay.adt:TypeData",
    "Array": "tvm.ir.container:Array",
    "Map": "tvm.ir.container:Map",
    "ConstantMemoryPools": "tvm.ir.memory_pools:ConstantMemoryPools",
    "ConstantPoolInfo": "tvm.ir.memory_pools:ConstantPoolInfo",
    "PoolInfo": "tvm.ir.memory_pools:PoolInfo",
    "PoolInfoProperties": "tvm.ir.memory_pools:PoolInfoProperties",
    "WorkspaceMemoryPools": "tvm.ir.memory_pools:WorkspaceMemoryPools",
    "WorkspacePoolInfo": "tvm.ir.memory_pools:WorkspacePoolInfo",
    "structural_equal": "tvm.ir.structural:structural_equal",
    "structural_hash": "tvm.ir.structural:structural_hash",
    "assert_structural_equal": "tvm.ir.structural:assert_structural_equal",
    "get_first_structural_mismatch": "tvm.ir.structural:get_first_structural_mismatch",
    "save_json": "tvm.ir.json:save_json",
    "load_json": "tvm.ir.json:load_json",
    "TypeCall": "tvm.ir.type_relation:TypeCall",
    "TypeConstraint": "tvm.ir.type_relation:TypeConstraint",
    "TypeRelation": "tvm.ir.type_relation:TypeRelation",
    "PassInfo": "tvm.ir.transform:PassInfo",
    "PassContext": "tvm.ir.transform:PassContext",
    "Pass": "tvm.ir.transform:Pass",
    "ModulePass": "tvm.ir.transform:ModulePass",
    "Sequential": "tvm.ir.transform:Sequential",
}

if TYPE_CHECKING:
    from . import analysis as analysis
    from . import diagnostics as diagnostics
    from . import instrument as instrument
    from . import transform as transform
    from .json import load_json, save_json
    from .structural import (
        assert_structural_equal,
        get_first_structural_mismatch,
        structural_equal,
        structural_hash,
    )
    from .transform import ModulePass, Pass, PassContext, PassInfo, Sequential
else:
    __getattr__ = lazy_names(
        __name__,
        _HOMES,
    )

__all__ = [
    "AffineType", "Attrs", "BaseExpr", "BaseFunc", "CallingConv", "DictAttrs", "DummyGlobalInfo",
    "EnvFunc", "FuncType",
    "GlobalInfo", "GlobalVar", "GlobalVarSupply", "HostTensor", "IRModule", "ModulePass",
    "NameSupply", "Node", "Object", "Op", "Pass", "PassContext", "PassInfo", "PointerType",
    "PrimExpr", "PrimExprConvertible", "PrimType", "Range", "RelaxExpr", "Sequential",
    "SequentialSpan", "SourceName", "Span", "StructInfo", "TensorAffineType", "TensorMapType",
    "TupleAffineType", "TupleType", "Type",
    "VDevice", "assert_structural_equal", "get_first_structural_mismatch", "load_json",
    "make_node", "register_intrin_lowering", "register_op_attr", "save_json", "structural_equal",
    "structural_hash",
]  # fmt: skip

"""TensorIR: words, functor and operators load at once; analyses, passes, schedules on demand."""

from typing import TYPE_CHECKING

from tvm.ir.expr import PrimExpr
from tvm.support.lazy import lazy_names

from . import buffer_access as buffer_access
from . import global_var_uses as global_var_uses
from . import op as op
from .buffer import Buffer, DataProducer, decl_buffer
from .expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOpExpr,
    Broadcast,
    BufferLoad,
    Call,
    CallEffectKind,
    Cast,
    CmpExpr,
    CommReducer,
    ConstExpr,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Let,
    LogicalExpr,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExprWithOp,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Sub,
    Var,
    convert,
)
from .function import PrimFunc
from .functor import PyStmtExprMutator, PyStmtExprVisitor
from .lazy_equal import EqualOp, IntImmEnum, NotEqualOp
from .op import *  # every operator is a public name of tvm.tir
from .stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRealize,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    MatchBufferRegion,
    SeqStmt,
    Stmt,
    While,
    stmt_list,
    stmt_seq,
)

_HOMES = {
    "Any": "tvm.relay.ty:Any",  # the extent of Relay that is known when a program runs
    "IndexMap": "tvm.tir.index_map:IndexMap",
    "TensorIntrin": "tvm.tir.intrin_registry:TensorIntrin",
    "Layout": "tvm.tir.data_layout:Layout",
    "BijectiveLayout": "tvm.tir.data_layout:BijectiveLayout",
    "layout": "tvm.tir.data_layout:layout",
    "bijective_layout": "tvm.tir.data_layout:bijective_layout",
    "ExprOp": "tvm.ir.expr:ExprOp",
    "Schedule": "tvm.tir.schedule:Schedule",
    "ScheduleState": "tvm.tir.schedule:ScheduleState",
    "ScheduleError": "tvm.tir.schedule:ScheduleError",
    "BlockDependenceInfo": "tvm.tir.block_dependence_info:BlockDependenceInfo",
    "BlockScope": "tvm.tir.schedule:BlockScope",
    "StmtSRef": "tvm.tir.schedule:StmtSRef",
    "build": "tvm.tir.build:build",
    "get_tir_pipeline": "tvm.tir.pipeline:get_tir_pipeline",
    "get_default_tir_pipeline": "tvm.tir.pipeline:get_default_tir_pipeline",
    "Type": "tvm.ir.type:Type",
    "PrimType": "tvm.ir.type:PrimType",
    "PointerType": "tvm.ir.type:PointerType",
}

if TYPE_CHECKING:
    from . import analysis as analysis
    from . import schedule as schedule
    from . import transform as transform
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Add", "Allocate", "AllocateConst", "And", "AssertStmt", "AttrStmt", "BinaryOpExpr", "Block",
    "BlockRealize", "Broadcast", "Buffer", "BufferLoad", "BufferRealize", "BufferRegion",
    "BufferStore", "Call", "CallEffectKind", "Cast", "CmpExpr", "CommReducer", "ConstExpr",
    "DataProducer", "DeclBuffer", "Div", "EQ", "EqualOp", "Evaluate", "FloatImm", "FloorDiv",
    "FloorMod", "For", "ForKind", "GE", "GT", "IfThenElse", "IntImm", "IntImmEnum", "IterVar",
    "LE", "LT", "Let", "LetStmt", "LogicalExpr", "MatchBufferRegion", "Max", "Min", "Mod", "Mul",
    "NE", "Not", "NotEqualOp", "Or", "PrimExpr", "PrimExprWithOp", "PrimFunc", "ProducerLoad",
    "PyStmtExprMutator", "PyStmtExprVisitor", "Ramp", "Reduce", "Select", "SeqStmt", "Shuffle",
    "SizeVar", "Stmt", "StringImm", "Sub", "Var", "While", "convert",
    "decl_buffer", "stmt_list", "stmt_seq",
]  # fmt: skip

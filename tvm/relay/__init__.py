"""Relay, TVM's older language of graphs, for programs that were written for it.

    x = relay.var("x", shape=(2, 3))
    func = relay.Function([x], relay.nn.softmax(x))
    mod = tvm.IRModule.from_expr(func)

Programs are read, typed, rewritten and printed here, and run by way of Relax: `relay.build` and
`relay.create_executor` translate them, so kernels, schedules and passes are those of Relax.
"""

from tvm.ir.expr import GlobalVar
from tvm.ir.expr import RelaxExpr as Expr
from tvm.ir.span import SequentialSpan, SourceName, Span
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall, TypeConstraint, TypeRelation
from tvm.support.lazy import lazy_names

from . import adt as adt
from . import base as base
from . import expr as expr
from . import expr_functor as expr_functor
from . import function as function
from . import op as op
from . import rewrite as rewrite
from . import ty as ty
from .adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from .base import Id, astext, pretty_print
from .expr import (
    Call,
    CallWithFields,
    Constant,
    ConstantWithFields,
    If,
    IfWithFields,
    Let,
    LetWithFields,
    RefCreate,
    RefCreateWithFields,
    RefRead,
    RefReadWithFields,
    RefWrite,
    RefWriteWithFields,
    RelayExpr,
    TempExpr,
    Tuple,
    TupleGetItem,
    TupleGetItemWithFields,
    TupleWithFields,
    TupleWrapper,
    Var,
    VarWithFields,
    bind,
    const,
    var,
)
from .expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from .function import Function, FunctionWithFields
from .op import *
from .op import annotation as annotation
from .op import image as image
from .op import nn as nn
from .op import random as random
from .op import vision as vision
from .scope_builder import ScopeBuilder
from .span_check import SpanCheck
from .text_parser import fromtext, parse, parse_expr
from .ty import (
    Any,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    ShapeVar,
    TensorType,
    TypeKind,
    TypeVar,
    is_dynamic,
    scalar_type,
)
from .type_functor import TypeFunctor, TypeMutator, TypeVisitor

_HOMES = {
    "Prelude": "tvm.relay.prelude:Prelude",
    "build_config": "tvm.relay.transform.function_pass:build_config",
    "collage": "tvm.relay.collage",
    "contrib": "tvm.relay.op.contrib",
    "build": "tvm.relay.build_module:build",
    "optimize": "tvm.relay.build_module:optimize",
    "create_executor": "tvm.relay.build_module:create_executor",
    "while_loop": "tvm.relay.loops:while_loop",
    "save_param_dict": "tvm.relay.param_dict:save_param_dict",
    "load_param_dict": "tvm.relay.param_dict:load_param_dict",
}

__getattr__ = lazy_names(__name__, _HOMES)

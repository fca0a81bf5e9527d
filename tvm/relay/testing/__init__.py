"""Helpers of tests, and small networks."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import Pass
from tvm.relay.expr import Call, Constant
from tvm.relay.function import Function
from tvm.relay.op.relations import extents
from tvm.relay.prelude import Prelude as Prelude
from tvm.relay.transform import InferType
from tvm.relay.transform import gradient as gradient
from tvm.relay.traverse import post_order
from tvm.relay.ty import TensorType

from . import byoc as byoc
from . import dcgan as dcgan
from . import densenet as densenet
from . import dqn as dqn
from . import inception_v3 as inception_v3
from . import init as init
from . import layers as layers
from . import lstm as lstm
from . import mlp as mlp
from . import mobilenet as mobilenet
from . import nat as nat
from . import resnet as resnet
from . import resnet_3d as resnet_3d
from . import squeezenet as squeezenet
from . import synthetic as synthetic
from . import temp_op_attr as temp_op_attr
from . import vgg as vgg
from .check_grad import check_grad as check_grad
from .check_grad import enabled_targets as enabled_targets
from .init import create_workload as create_workload
from .nat import count as count
from .nat import make_nat_expr as make_nat_expr
from .nat import make_nat_value as make_nat_value
from .py_converter import run_as_python as run_as_python
from .py_converter import to_python as to_python
from .temp_op_attr import TempOpAttr as TempOpAttr


def run_opt_pass(expr: RelaxExpr, opt_pass: Pass, import_prelude: bool = False) -> RelaxExpr:
    """An expression after a pass: a function, or the body of the one that was made of it."""
    mod = opt_pass(InferType()(IRModule.from_expr(expr)))
    main = mod["main"]
    assert isinstance(main, Function), "main is a function of Relay"
    return main if isinstance(expr, Function) else main.body


def run_infer_type(expr: RelaxExpr) -> RelaxExpr:
    """An expression with types."""
    return run_opt_pass(expr, InferType())


def rand(dtype: str, *shape: int) -> Constant:
    """A constant of random numbers."""
    return Constant(np.random.rand(*shape).astype(dtype))


def _np_randn_from_type(t: TensorType, scale: float = 1, mean: float = 0) -> Any:
    """Normally distributed numbers of a tensor type, as `check_grad` draws them."""
    drawn = np.random.randn(*extents(t))
    return (mean + scale * drawn).astype(t.dtype)


def count_ops(expr: RelaxExpr) -> Counter[Any]:
    """How often each operator is called, by name."""
    return Counter(
        node.op.name
        for node in post_order(expr)
        if isinstance(node, Call) and isinstance(node.op, Op)
    )

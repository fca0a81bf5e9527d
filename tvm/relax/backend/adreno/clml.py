"""Operators that Qualcomm's OpenCL ML library takes over on Adreno GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tvm.ffi import get_global_func
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, Sequential, module_pass
from tvm.relax import op, transform
from tvm.relax.backend.library_checks import tensor
from tvm.relax.backend.pattern_registry import register_patterns
from tvm.relax.dpl.pattern import DFPattern, is_op, is_tuple_get_item, wildcard
from tvm.relax.expr import Call, Function, ShapeExpr, TupleGetItem, Var, VarBinding
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext
from tvm.relax.transform.pass_form import function_pass

Entry: TypeAlias = tuple[
    str, DFPattern, Mapping[str, DFPattern], Callable[[PatternCheckContext], bool]
]

_OLDEST_SDK: Final = 2
_TYPES: Final = ("float16", "float32")
_CONVOLUTIONS: Final = ("nn.conv2d", "nn.conv2d_transpose")
_LAYOUTS: Final = {f"relax.{name}": ["NCHW", "OIHW"] for name in _CONVOLUTIONS}
_BINARY: Final = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
_UNARY: Final = ("nn.relu", "nn.softmax", "nn.max_pool2d", "nn.avg_pool2d")


def clml_sdk_version() -> int:
    """The version of the library this was built with; the oldest one without it."""
    version = get_global_func("relax.get_openclml_version", allow_missing=True)
    return _OLDEST_SDK if version is None else int(version())


def is_clml_runtime_enabled() -> bool:
    """Whether functions for the library can run here."""
    enabled = get_global_func("relax.op.is_openclml_runtime_enabled", allow_missing=True)
    return enabled is not None and bool(enabled())


@mutator
class AppendReshapeToBNRewriter(PyExprMutator):
    """The first result of a batch norm goes through a reshape that changes nothing.

    A match ends in a call then, instead of a part of a tuple.
    """

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._norms: set[Var] = set()

    def visit_var_binding_(self, binding: VarBinding) -> None:
        value = binding.value
        called = value.op if isinstance(value, Call) else None
        if isinstance(called, Op) and called.name == "relax.nn.batch_norm":
            self._norms.add(binding.var)
        super().visit_var_binding_(binding)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> RelaxExpr:
        item = super().visit_tuple_getitem_(op)
        info = op.struct_info
        if op.index != 0 or op.tuple_value not in self._norms:
            return item
        if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
            return item
        return _reshaped(item, info.shape)


def _reshaped(item: RelaxExpr, shape: ShapeExpr) -> RelaxExpr:
    return op.reshape(item, shape)


@function_pass(opt_level=0, name="AppendReshapeToBN")
class AppendReshapeToBNRewriterPass:
    """`AppendReshapeToBNRewriter` on every function."""

    def transform_function(self, func: Function, mod: IRModule, _ctx: PassContext) -> Function:
        """The function, with a reshape after each batch norm."""
        out = AppendReshapeToBNRewriter(mod).visit_expr(func)
        assert isinstance(out, Function), "a function stays one"
        return out


def _floats(context: PatternCheckContext) -> bool:
    """Whether the result is of a type that the library computes with."""
    found = tensor(context.annotated_expr["root"])
    return found is not None and found[1] in _TYPES


def _planar(context: PatternCheckContext) -> bool:
    """Whether a convolution has the layouts of the library."""
    call: Any = context.annotated_expr["conv"]
    data, kernel = str(call.attrs["data_layout"]), str(call.attrs["kernel_layout"])
    return _floats(context) and (data, kernel) in (("NCHW", "OIHW"), ("NCHW", "IOHW"))


def _simple(name: str, operands: int) -> Entry:
    parts = {f"arg{i}": wildcard() for i in range(operands)}
    out = is_op(f"relax.{name}")(*parts.values())
    return f"openclml.{name}", out, {**parts, "root": out}, _floats


def _batch_norm() -> Entry:
    names = ("data", "gamma", "beta", "moving_mean", "moving_var")
    parts: dict[str, DFPattern] = {name: wildcard() for name in names}
    norm = is_op("relax.nn.batch_norm")(*parts.values())
    out = is_op("relax.reshape")(is_tuple_get_item(norm, 0), wildcard())
    return "openclml.nn.batch_norm", out, {**parts, "root": out}, _floats


def _convolution(name: str, bias: bool, activation: bool) -> Entry:
    parts: dict[str, DFPattern] = {"data": wildcard(), "weight": wildcard()}
    out: DFPattern = is_op(f"relax.{name}")(*parts.values())
    parts["conv"] = out
    title = f"openclml.{name}"
    if bias:
        parts["bias"] = wildcard()
        out = is_op("relax.add")(out, parts["bias"])
        title += "_bias"
    if activation:
        out = is_op("relax.nn.relu")(out)
        title += "_relu"
    return title, out, {**parts, "root": out}, _planar


def clml_pattern_table() -> list[Entry]:
    """What the library computes, least wanted first: longer patterns go before their parts."""
    return [
        *[_simple(name, 2) for name in _BINARY],
        *[_simple(name, 1) for name in _UNARY],
        _simple("clip", 3), _simple("reshape", 2), _simple("matmul", 2), _batch_norm(),
        *[
            _convolution(name, bias, activation)
            for name in _CONVOLUTIONS
            for bias in (False, True)
            for activation in (False, True)
        ],
    ]  # fmt: skip


register_patterns(clml_pattern_table())


@module_pass(opt_level=0, name="OpenCLMLOffLoad")
class OpenCLMLOffLoad:
    """Hands what the library computes to its code generator.

    Layouts become the library's and batch norms join the convolutions before them first.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The module with calls of compiled functions; TVMError without the code generator."""
        passes: list[Any] = [
            transform.ConvertLayout(_LAYOUTS),
            transform.Normalize(),
            transform.FoldBatchnormToConv2D(),
            AppendReshapeToBNRewriterPass(),
            transform.FoldConstant(),
            transform.FuseOpsByPattern(clml_pattern_table()[::-1]),
            transform.MergeCompositeFunctions(),
            transform.RunCodegen(),
        ]
        return Sequential(passes)(mod)

"""Operators that Qualcomm's OpenCL ML library takes over on Adreno GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tvm.ffi import get_global_func
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext, Sequential, module_pass
from tvm.relax import op, transform
from tvm.relax.backend.library_checks import tensor, tensors
from tvm.relax.backend.pattern_registry import register_patterns
from tvm.relax.dpl.pattern import DFPattern, is_const, is_op, is_tuple_get_item, wildcard
from tvm.relax.expr import Call, Function, ShapeExpr, TupleGetItem, Var, VarBinding
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext
from tvm.relax.transform.pass_form import function_pass
from tvm.tir.expr import IntImm

Entry: TypeAlias = tuple[
    str, DFPattern, Mapping[str, DFPattern], Callable[[PatternCheckContext], bool]
]
_Parts: TypeAlias = dict[str, DFPattern]

_OLDEST_SDK: Final = 2
_TYPES: Final = ("float16", "float32")
_CONVOLUTIONS: Final = ("nn.conv2d", "nn.conv2d_transpose")
_LAYOUTS: Final = {f"relax.{name}": ["NCHW", "OIHW"] for name in _CONVOLUTIONS}
_BINARY: Final = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
_UNARY: Final = ("nn.softmax", "nn.relu", "clip")


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


def _any(context: PatternCheckContext) -> bool:
    """The library takes every match."""
    return True


def _elementwise(context: PatternCheckContext) -> bool:
    """Whether the operands are batches of one, of one shape, and no 64 bit integers."""
    found = [tensor(expr) for expr in context.annotated_expr.values()]
    shapes = [one[0] for one in found if one is not None and one[1] != "int64"]
    if len(shapes) != len(found) or not shapes[0]:
        return False
    batch = shapes[0][0]
    alone = not isinstance(batch, IntImm) or batch.value == 1
    return alone and all(structural_equal(shape, shapes[0]) for shape in shapes)


def _convolved(context: PatternCheckContext) -> bool:
    """Whether the convolution has the types and layouts of the library."""
    found = tensors(context, "data", "weight")
    if found is None or any(kind not in _TYPES for _, kind in found):
        return False
    called = next(expr for expr in _calls(context) if _name(expr).startswith("relax.nn.conv2d"))
    attrs: Any = called.attrs
    return [str(attrs["data_layout"]), str(attrs["kernel_layout"])] == _LAYOUTS["relax.nn.conv2d"]


def _calls(context: PatternCheckContext) -> list[Call]:
    return [value for value in context.matched_bindings.values() if isinstance(value, Call)]


def _name(call: Call) -> str:
    return call.op.name if isinstance(call.op, Op) else ""


def _simple(name: str, *operands: str) -> Entry:
    parts = {operand: wildcard() for operand in operands}
    bounds = [wildcard(), wildcard()] if name == "clip" else []
    out = is_op(f"relax.{name}")(*parts.values(), *bounds)
    return f"openclml.relax.{name}", out, parts, _elementwise


def _pooled(name: str, out: Callable[[DFPattern], DFPattern]) -> Entry:
    data = wildcard()
    root = out(data)
    return f"openclml.nn.{name}", root, {"data": data, "root": root}, _any


def _batch_norm() -> Entry:
    parts: _Parts = {
        name: is_const() for name in ("gamma", "beta", "moving_mean", "moving_var")
    }
    norm = is_op("relax.nn.batch_norm")(wildcard(), *parts.values())
    out = is_op("relax.reshape")(is_tuple_get_item(norm, 0), wildcard())
    return "openclml.nn.batch_norm", out, {**parts, "root": out}, _any


def _chains() -> list[Entry]:
    """Convolutions with what may follow them, shorter ones first.

    A bias, a batch norm and the choice of its first result each come after any of the former; a
    relu or a clip comes last.
    """
    data, weight = wildcard(), wildcard()
    found: dict[str, tuple[DFPattern, _Parts]] = {
        name: (out, {"data": data, "weight": weight})
        for name, out in (
            ("nn.conv2d", is_op("relax.nn.conv2d")(data, weight)),
            ("pad.nn.conv2d", is_op("relax.nn.conv2d")(is_op("relax.nn.pad")(data), weight)),
            ("nn.conv2d_transpose", is_op("relax.nn.conv2d_transpose")(data, weight)),
        )
    }
    bias = is_const()
    norm: _Parts = {name: is_const() for name in ("bn_scale", "bn_bias", "bn_mean", "bn_var")}
    steps: tuple[tuple[str, Callable[[DFPattern], DFPattern], _Parts], ...] = (
        ("bias", lambda out: is_op("relax.add")(out, bias), {"bias": bias}),
        ("bn", lambda out: is_op("relax.nn.batch_norm")(out, *norm.values()), norm),
        ("tuple", lambda out: is_tuple_get_item(out, 0), {}),
    )
    for step, follow, own in steps:
        found |= {f"{step}.{name}": (follow(out), parts | own)
                  for name, (out, parts) in found.items()}  # fmt: skip
    bounds = wildcard(), wildcard()
    last = {
        f"{end}.{name}": (is_op(f"relax.{op}")(out, *rest), parts)
        for end, op, rest in (("relu", "nn.relu", ()), ("clip", "clip", bounds))
        for name, (out, parts) in found.items()
    }
    return [
        (f"openclml.{name}", out, {**parts, "root": out}, _convolved)
        for name, (out, parts) in (found | last).items()
    ]


def clml_pattern_table() -> list[Entry]:
    """What the library computes, most wanted first: longer patterns go before their parts."""
    reshape = is_op("relax.reshape")(wildcard(), wildcard())
    return [
        *reversed(_chains()),
        _batch_norm(),
        *[_simple(name, "lhs", "rhs") for name in _BINARY],
        *[_simple(name, "lhs") for name in _UNARY],
        _pooled("max_pool2d", lambda data: is_op("relax.nn.max_pool2d")(data)),
        _pooled("avg_pool2d", lambda data: is_op("relax.nn.avg_pool2d")(data)),
        _pooled("global_avg_pool2d",
                lambda data: is_op("relax.mean")(data).has_attr({"axis": [2, 3]})),
        ("openclml.reshape", reshape, {"root": reshape}, _any),
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
            transform.FuseOpsByPattern(clml_pattern_table()),
            transform.MergeCompositeFunctions(),
            transform.RunCodegen(),
        ]
        return Sequential(passes)(mod)

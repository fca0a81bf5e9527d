"""Calls of functions written as tensor expressions: from Relax operands to a TIR function.

    bb.call_te(topi.add, x, y)    ->    call_tir(add, (x, y), out_sinfo=Tensor((n, 4), "float32"))

The TIR function gets symbols of its own. Those that no tensor's shape defines are passed as extra
arguments (`tir_vars`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, final

from tvm.arith import Analyzer
from tvm.error import AssumptionError, KindError, message
from tvm.ir.attrs import Attrs
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.node import Field, fields, register_nodes
from tvm.ir.op import Op
from tvm.ir.type import Type
from tvm.support.dtype import DataType
from tvm.te.create_prim_func import create_prim_func
from tvm.te.operation import compute
from tvm.te.tensor import PlaceholderOp, Tensor
from tvm.tir import expr as tir
from tvm.tir.analysis.undefined_vars import free_variables
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute, walk

from .expr import PrimValue, StringImm, Tuple, Var
from .struct_info import PrimStructInfo, ShapeExpr, ShapeStructInfo, TensorStructInfo
from .struct_info_rules import tir_vars_in

if TYPE_CHECKING:
    from .block_builder import BlockBuilder


class CallTirInputs(NamedTuple):
    """What `call_tir` needs: the function, its arguments, the results, and extra symbols."""

    func: PrimFunc
    args: Tuple
    out_sinfo: StructInfo | list[StructInfo]
    tir_vars: ShapeExpr | None


def call_te(
    bb: BlockBuilder, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> RelaxExpr:
    """The call of what `func` computes of `args`, added to the builder's module."""
    options = dict(kwargs)
    name = options.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
    made = gen_call_tir_inputs(func, *args, **options)
    gvar = bb.add_func(made.func, name)
    call: RelaxExpr = Op.get("relax.call_tir").get_attr("FMakeCall")(
        gvar, made.args, made.out_sinfo, made.tir_vars
    )
    return call


def call_te_with_grad(
    bb: BlockBuilder,
    func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    te_grad_name: str,
    te_grad_kwargs: Mapping[str, Any] | None,
) -> RelaxExpr:
    """As `call_te`, with the name of a registered gradient."""
    options = dict(kwargs)
    name = options.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
    made = gen_call_tir_inputs(func, *args, **options)
    gvar = bb.add_func(made.func, name)
    call: RelaxExpr = Op.get("relax.call_tir_with_grad").get_attr("FMakeCall")(
        gvar, made.args, made.out_sinfo, te_grad_name, te_grad_kwargs, made.tir_vars
    )
    return call


@final
class TEPlaceholderOp(PlaceholderOp):
    """The placeholder of a Relax tensor, which it remembers as `value`."""

    __slots__ = ("value",)
    TYPE_KEY = "relax.TEPlaceholderOp"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name~", "tag", "attrs", "shape", "dtype", "value")
    CTOR: ClassVar[tuple[str, ...]] = ("name", "shape", "dtype", "value")

    def __init__(
        self, name: str, shape: Sequence[Any], dtype: DataType | str, value: RelaxExpr
    ) -> None:
        super().__init__(name, shape, dtype)
        self.value: Final = value


def te_tensor(value: RelaxExpr, dims: Mapping[tir.Var, PrimExpr], name: str) -> Tensor:
    """A placeholder with the shape and dtype of `value`, in the symbols of `dims`."""
    info = value.struct_info
    if not isinstance(info, TensorStructInfo):
        raise TypeError(f"Only tensors have placeholders; found {value} with struct info {info}")
    values = info.values
    if values is None:
        raise AssumptionError(
            message(
                "emit_te: a tensor's shape must be known as expressions",
                found=f"{value} with struct info {info}",
                legal='TensorStructInfo((n, 4), "float32") with a ShapeExpr; '
                "give it one with match_cast",
            )
        )
    shape = [substitute(extent, dims) for extent in values]
    return TEPlaceholderOp(name, shape, info.dtype, value).output(0)


class _Arguments:
    """Turns the arguments of a TE function into placeholders and fresh symbols."""

    def __init__(self) -> None:
        self.dims: dict[tir.Var, PrimExpr] = {}
        self.operands: list[RelaxExpr] = []
        self.parameters: list[Tensor | tir.Var] = []
        self.extra: list[PrimExpr] = []
        self._tensors = 0

    def convert(self, arg: Any) -> Any:
        if isinstance(arg, RelaxExpr):
            return self._expr(arg)
        if isinstance(arg, PrimExpr):
            self._fresh_symbols([arg])
            new = substitute(arg, self.dims)
            self.extra.append(new)
            return new
        if isinstance(arg, (list, tuple)):
            return type(arg)([self.convert(part) for part in arg])
        if isinstance(arg, Mapping):
            return {key: self.convert(part) for key, part in arg.items()}
        if arg is None or isinstance(arg, (int, float, str, Type, Attrs, Tensor)) or callable(arg):
            return arg
        raise TypeError(
            f"not supported type in emit_te: {type(arg).__name__}; legal: Relax expressions, "
            "PrimExpr, numbers, strings, None, attributes, and lists, tuples and dicts of them"
        )

    def _expr(self, arg: RelaxExpr) -> Any:
        info = arg.struct_info
        if isinstance(info, TensorStructInfo):
            self._fresh_symbols(info.values or ())
            tensor = te_tensor(arg, self.dims, self._buffer_name(arg))
            self._tensors += 1
            self.operands.append(arg)
            self.parameters.append(tensor)
            return tensor
        if isinstance(info, ShapeStructInfo):
            if not isinstance(arg, ShapeExpr):
                # the kind of error that TVM's users catch here
                raise AssertionError(
                    f"emit_te takes a shape only as a ShapeExpr; found {arg} with struct info "
                    f"{info}; legal: R.shape([n, 4]), or the extents themselves"
                )
            return [self.convert(value) for value in arg.values]
        if isinstance(info, PrimStructInfo):
            return self._scalar(arg, info)
        if isinstance(arg, StringImm):
            return arg.value
        if isinstance(arg, Tuple):
            return [self.convert(field) for field in arg.fields]
        raise TypeError(
            f"not supported type in emit_te: {arg} with struct info {info}; "
            "legal: tensors, shapes, numbers, strings, tuples of them"
        )

    def _buffer_name(self, arg: RelaxExpr) -> str:
        if isinstance(arg, Var):
            return arg.name_hint
        n = self._tensors
        return chr(ord("A") + n) if n < 26 else f"input_{n}"

    def _scalar(self, arg: RelaxExpr, info: PrimStructInfo) -> Any:
        if info.value is not None:
            return self.convert(info.value)
        name = arg.name_hint if isinstance(arg, Var) else f"scalar_input_{len(self.parameters)}"
        parameter = tir.Var(name, info.dtype)
        self.operands.append(arg)
        self.parameters.append(parameter)
        return parameter

    def _fresh_symbols(self, exprs: Sequence[PrimExpr]) -> None:
        for var in tir_vars_in(exprs):
            if var not in self.dims:
                self.dims[var] = tir.Var(var.name, var.dtype)

    def tensor_infos(self) -> list[TensorStructInfo]:
        """The struct infos of the operands that are tensors."""
        infos = [operand.struct_info for operand in self.operands]
        return [info for info in infos if isinstance(info, TensorStructInfo)]

    def unbound(self, outs: Sequence[Tensor]) -> list[tir.Var]:
        """Symbols that are used, and are no extent of any parameter."""
        tensors = [p for p in [*self.parameters, *outs] if isinstance(p, Tensor)]
        extents = [extent for tensor in tensors for extent in tensor.shape]
        bound = {extent for extent in extents if isinstance(extent, tir.Var)}
        bound.update(p for p in self.parameters if isinstance(p, tir.Var))
        return [var for var in tir_vars_in([*extents, *self.extra]) if var not in bound]


def gen_call_tir_inputs(func: Callable[..., Any], *args: Any, **kwargs: Any) -> CallTirInputs:
    """The TIR function that `func` computes of `args`, and the operands to call it with."""
    attrs = kwargs.pop("primfunc_attrs", None)
    given: Sequence[StructInfo] = kwargs.pop("sinfo_args", ())
    arguments = _Arguments()
    te_args = [arguments.convert(arg) for arg in args]
    te_kwargs = {key: arguments.convert(value) for key, value in kwargs.items()}
    if not callable(func):
        raise TypeError(
            message("emit_te: the function that computes", found=f"{type(func).__name__} {func}",
                    legal="a function of te tensors, such as topi.add")
        )  # fmt: skip
    result = func(*te_args, **te_kwargs)
    outs = list(result) if isinstance(result, (list, tuple)) else [result]
    for out in outs:
        if not isinstance(out, Tensor):
            raise KindError(
                "emit_te: only support te.tensor or tuple/list of te.tensor as function output; "
                f"{getattr(func, '__name__', func)} gave a {type(out).__name__}"
            )
    outs = [_own_output(out, outs[:index]) for index, out in enumerate(outs)]
    unbound = arguments.unbound(outs)
    prim_func = create_prim_func([*arguments.parameters, *outs, *unbound], "int64")
    captured = free_variables(prim_func)  # symbols of the caller that `func` knows by itself
    if captured:
        unbound += captured
        prim_func = create_prim_func([*arguments.parameters, *outs, *unbound], "int64")
    if attrs:
        prim_func = prim_func.with_attrs(attrs)
    prim_func = prim_func.without_attr("global_symbol")
    back = {new: old for old, new in arguments.dims.items() if isinstance(new, tir.Var)}
    # results are where the operands are
    where = next((info.vdevice for info in arguments.tensor_infos() if info.vdevice), None)
    infos: list[StructInfo] = list(given) or [
        TensorStructInfo([_old(extent, back) for extent in out.shape], out.dtype, where)
        for out in outs
    ]
    out_sinfo: StructInfo | list[StructInfo] = infos
    if not isinstance(result, (list, tuple)) or len(given) == 1:
        out_sinfo = infos[0]
    tir_vars = ShapeExpr([back.get(var, var) for var in unbound]) if unbound else None
    return CallTirInputs(prim_func, Tuple(arguments.operands), out_sinfo, tir_vars)


def _own_output(out: Tensor, before: Sequence[Tensor]) -> Tensor:
    """A copy of an operand that is given back as it is, or of what was given once before."""
    if not isinstance(out.op, PlaceholderOp) and out not in before:
        return out
    copied: Tensor = compute(out.shape, lambda *i: out(*i), name="identity")
    return copied


def _old(extent: PrimExpr, back: Mapping[tir.Var, PrimExpr]) -> PrimExpr:
    if isinstance(extent, tir.IntImm):
        return tir.IntImm("int64", extent.value)
    new = substitute(extent, back)
    if not isinstance(new, tir.Var):
        told = Analyzer().simplify(new)  # the caller's symbols are sizes, and tell more
        if isinstance(told, tir.IntImm):
            return tir.IntImm("int64", told.value)
        if _chooses(new) and not _chooses(told):
            new = told
    return new if new.dtype == "int64" else tir.Cast("int64", new)


def _chooses(extent: PrimExpr) -> bool:
    return any(
        isinstance(part, (tir.Min, tir.Max, tir.Select))
        or (getattr(getattr(part, "op", None), "name", "") == "tir.if_then_else")
        for part in walk(extent)
    )


register_nodes(TEPlaceholderOp)

__all__ = [
    "CallTirInputs", "PrimValue", "TEPlaceholderOp", "call_te", "gen_call_tir_inputs", "te_tensor",
]  # fmt: skip

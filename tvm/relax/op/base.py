"""Operators that call (TIR functions, packed functions, closures), and about shapes and devices."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvm.error import CheckError, DTypeError, message
from tvm.ffi import library, register_global_func
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.global_info import VDevice
from tvm.ir.op import register_op_attr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.derive import derive_call_ret_struct_info
from tvm.relax.expr import (
    Call,
    ExprLike,
    ExternFunc,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    convert_to_expr,
)
from tvm.relax.struct_info import (
    VOID,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    const_int,
)
from tvm.relax.struct_info_rules import BaseCheckResult, base_check

from .declare import (
    Array,
    Expr,
    Infer,
    attrs_class,
    int_tuple,
    listed,
    relax_op,
    show_shape,
)

CallTIRWithGradAttrs = attrs_class("CallTIRWithGradAttrs", "te_grad_name", "te_grad_kwargs")
CallTIRInplaceAttrs = attrs_class("CallTIRInplaceAttrs", "inplace_indices")
CallInplacePackedAttrs = attrs_class("CallInplacePackedAttrs", "inplace_indices")
ToVDeviceAttrs = attrs_class("ToVDeviceAttrs", "dst_vdevice")
HintOnDeviceAttrs = attrs_class("HintOnDeviceAttrs", "device_type", "index")

OutInfo = StructInfo | Sequence[StructInfo]
TirVars = ShapeExpr | Sequence[PrimExpr] | None
VOID_RESULT = TupleStructInfo(())


def register_gradient(op_name: str, fgradient: Any = None, level: int = 10) -> Any:
    """Set the rule for the gradients of an operator's operands; a decorator without `fgradient`."""
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def _operand_tuple(args: Any) -> Expr:
    """Operands as a tuple; a single one becomes a tuple of one."""
    if isinstance(args, RelaxExpr):
        if isinstance(args, Tuple) or isinstance(args.struct_info_, TupleStructInfo):
            return args
        return Tuple((args,))
    if isinstance(args, (list, tuple)):
        return Tuple(args)
    return Tuple((convert_to_expr(args),))


def _infos(sinfo_args: OutInfo | None) -> list[StructInfo]:
    if sinfo_args is None:
        return []
    if isinstance(sinfo_args, StructInfo):
        return [sinfo_args]
    return list(listed(sinfo_args, "the struct info of the results"))


def _one_info(op_name: str, out_sinfo: OutInfo) -> StructInfo:
    """The struct info of the result: a tensor, or a tuple for a list of them."""
    if isinstance(out_sinfo, StructInfo):
        infos: list[StructInfo] = [out_sinfo]
    else:
        infos = list(listed(out_sinfo, f"{op_name}: out_sinfo"))
    for info in infos:
        if isinstance(info, (ObjectStructInfo, PrimStructInfo, ShapeStructInfo, FuncStructInfo)):
            raise TypeError(f"{op_name}: out_sinfo expected TensorStructInfo, but got {info}")
        if isinstance(info, TensorStructInfo) and not isinstance(info.shape, ShapeExpr):
            raise CheckError(
                message(
                    f"{op_name}: out_sinfo must have a shape of known expressions",
                    found=f"{info}",
                    legal='TensorStructInfo((n, 4), "float32"), or a list of such',
                )
            )
    return infos[0] if len(infos) == 1 else TupleStructInfo(infos)


def _tir_operands(gvar: Expr, args: Any, tir_vars: TirVars) -> list[ExprLike]:
    if isinstance(gvar, (str, StringImm)):  # names of packed functions: call_dps_packed
        raise TypeError(
            f"call_tir: expected a GlobalVar for the function that is called, and got {gvar!r}"
        )
    operands: list[ExprLike] = [gvar, _operand_tuple(args)]
    if tir_vars is not None:
        operands.append(tir_vars if isinstance(tir_vars, ShapeExpr) else ShapeExpr(tir_vars))
    return operands


def _make(op: Any, operands: Sequence[Any], infos: Sequence[StructInfo], **options: Any) -> Call:
    plain = op.call(*operands, **options)
    return Call(plain.op, plain.args, plain.attrs, infos)


def _info_from_caller(ctx: Infer, *infos: StructInfo, **options: Any) -> StructInfo:
    given = ctx.call.sinfo_args
    if len(given) != 1:
        raise ctx.error("exactly one struct info is given for the result", f"{len(given)}", "1")
    return given[0]


def _infos_from_caller(ctx: Infer, *infos: StructInfo, **options: Any) -> StructInfo:
    given = ctx.call.sinfo_args
    if not given:
        return ObjectStructInfo()
    return given[0] if len(given) == 1 else TupleStructInfo(given)


def inline_operands(bb: BlockBuilder, call: Call) -> Expr:
    """A variable that holds the tuple of operands is taken apart, so that all are in sight."""
    if len(call.args) < 2:
        return call  # inference refuses it
    operands = call.args[1]
    info = operands.struct_info_
    if isinstance(operands, Tuple) or not isinstance(info, TupleStructInfo):
        return call
    known: Expr | None = operands
    while isinstance(known, Var):
        known = bb.lookup_binding(known)
    fields = (
        known.fields
        if isinstance(known, Tuple)
        else [bb.normalize_argument(TupleGetItem(operands, i)) for i in range(len(info.fields))]
    )
    args = [call.args[0], Tuple(fields), *call.args[2:]]
    new = Call(call.op, args, call.attrs, call.sinfo_args, call.span)
    new.args[1].struct_info_ = info
    return new


@relax_op("relax.call_tir", "func: Expr, args: Tuple, packed_ints: Expr?")
def call_tir(
    gvar: Expr, args: ExprLike, out_sinfo: OutInfo, tir_vars: TirVars = None
) -> Call:
    """Call a TIR function that writes its last arguments; the results are made for it.

    `tir_vars` are values for symbols that no operand's shape defines.
    """
    info = _one_info("call_tir", out_sinfo)
    return _make(call_tir, _tir_operands(gvar, args, tir_vars), [info])


@relax_op(
    "relax.call_tir_with_grad", "func: Expr, args: Tuple, packed_ints: Expr?", CallTIRWithGradAttrs
)
def call_tir_with_grad(
    gvar: Expr,
    args: ExprLike,
    out_sinfo: OutInfo,
    te_grad_name: str,
    te_grad_kwargs: Mapping[str, Any] | None = None,
    tir_vars: TirVars = None,
) -> Call:
    """As `call_tir`, with the name of a registered function that computes the gradients."""
    info = _one_info("call_tir_with_grad", out_sinfo)
    return _make(
        call_tir_with_grad,
        _tir_operands(gvar, args, tir_vars),
        [info],
        te_grad_name=te_grad_name,
        te_grad_kwargs=dict(te_grad_kwargs or {}),
    )


@relax_op(
    "relax.call_tir_inplace", "func: Expr, args: Tuple, packed_ints: Expr?", CallTIRInplaceAttrs
)
def call_tir_inplace(
    gvar: Expr,
    args: ExprLike,
    inplace_indices: int | Sequence[int],
    out_sinfo: OutInfo,
    tir_vars: TirVars = None,
) -> Call:
    """As `call_tir`, where results may overwrite operands.

    `inplace_indices` says for each result which operand it overwrites; -1 for a new tensor.
    """
    indices = int_tuple(inplace_indices, name="inplace_indices")
    infos = _infos(out_sinfo)
    operands = _tir_operands(gvar, args, tir_vars)
    given = operands[1].fields if isinstance(operands[1], Tuple) else None
    _check_inplace("call_tir_inplace", indices, given, infos)
    return _make(
        call_tir_inplace, operands, [_one_info("call_tir_inplace", infos)], inplace_indices=indices
    )


def _check_inplace(
    name: str,
    indices: tuple[int, ...],
    operands: Sequence[Expr] | None,
    infos: Sequence[StructInfo],
) -> None:
    """Refuse in-place indices that are out of range or used twice."""
    results = len(infos)
    count = None if operands is None else len(operands)
    wrong = len(indices) != results or all(i == -1 for i in indices)
    wrong = wrong or any(i < -1 or (count is not None and i >= count) for i in indices)
    used = [i for i in indices if i != -1]
    if wrong or len(set(used)) != len(used):
        raise CheckError(
            message(
                f"{name}: inplace_indices do not fit",
                found=f"{list(indices)} for {results} results and {count} operands",
                legal="one index for each result, no operand twice, -1 for a new tensor, "
                "and at least one that is not -1",
            )
        )


def _operands_in_place(bb: BlockBuilder, call: Call) -> Expr:
    """What is overwritten has to be in sight where it is."""
    if len(call.args) > 1 and not isinstance(call.args[1], Tuple):
        raise CheckError(
            message(
                "call_tir_inplace: the operands",
                found=f"{call.args[1]}",
                legal="a tuple of them that is written in place",
            )
        )
    return call


for _op in (call_tir, call_tir_with_grad, call_tir_inplace):
    _op.infer(_info_from_caller)
    _op.normalize(_operands_in_place if _op is call_tir_inplace else inline_operands)


def _callee(func: str | Expr) -> Expr:
    return ExternFunc(func) if isinstance(func, str) else func


@relax_op("relax.call_dps_packed", "func: Expr, args: Tuple")
def call_dps_packed(func: str | Expr, args: ExprLike, out_sinfo: OutInfo) -> Call:
    """Call a packed function that writes its last arguments; the results are made for it."""
    info = _one_info("call_dps_packed", out_sinfo)
    return _make(call_dps_packed, [_callee(func), _operand_tuple(args)], [info])


@relax_op("relax.call_py_func", "func_name: Expr, args: Tuple")
def call_py_func(func_name: Any, args: ExprLike, out_sinfo: OutInfo) -> Call:
    """Call a Python function that the module carries under this name."""
    if not isinstance(func_name, Expr):
        found = type(func_name).__name__
        raise DTypeError(f"call_py_func: Mismatched type, Expected relax.StringImm, got {found}")
    return _make(
        call_py_func, [func_name, _operand_tuple(args)], [_one_info("call_py_func", out_sinfo)]
    )


for _packed in (call_dps_packed, call_py_func):
    _packed.infer(_info_from_caller)
    # no form that programs must be written in, so parsers bring calls into it as well
    _packed.op.set_attr("FInlineOperands", inline_operands)


@relax_op("relax.call_builtin_with_ctx", "func: Expr, args: Tuple", pure=False)
def call_builtin_with_ctx(
    func: str | Expr, args: ExprLike, *, sinfo_args: OutInfo | None = None
) -> Call:
    """Call a function of the virtual machine, which gets the machine as its first argument."""
    return _make(
        call_builtin_with_ctx, [_callee(func), _operand_tuple(args)], _infos(sinfo_args)
    )


call_builtin_with_ctx.op.set_num_inputs(4)  # with the context and the struct info, as TVM counts


@relax_op("relax.call_inplace_packed", "*args: Expr", CallInplacePackedAttrs)
def call_inplace_packed(
    func: str | Expr,
    *args: ExprLike,
    inplace_indices: int | Sequence[int],
    sinfo_args: OutInfo,
) -> Call:
    """Call a packed function that overwrites operands and nothing else."""
    indices = int_tuple(inplace_indices, name="inplace_indices")
    operands, infos = [convert_to_expr(arg) for arg in args], _infos(sinfo_args)
    _check_inplace("call_inplace_packed", indices, operands, infos)
    return _make(
        call_inplace_packed, [_callee(func), *operands], infos, inplace_indices=indices
    )


@relax_op("relax.call_pure_packed", "*args: Expr")
def call_pure_packed(func: str | Expr, *args: ExprLike, sinfo_args: OutInfo) -> Call:
    """Call a packed function that is promised to have no side effect."""
    return _make(call_pure_packed, [_callee(func), *args], _infos(sinfo_args))


def _packed_result(ctx: Infer, *infos: StructInfo, **options: Any) -> StructInfo:
    call = ctx.call
    if not call.args:
        raise ctx.error("a function to call is missing", "no operands", "the function first")
    inner = Call(call.args[0], call.args[1:], None, call.sinfo_args, call.span)
    return derive_call_ret_struct_info(call.args[0].struct_info, inner, ctx.bb)


@call_inplace_packed.infer
def _inplace_packed_result(ctx: Infer, *infos: StructInfo, **options: Any) -> StructInfo:
    """What is overwritten stays what it was."""
    result = _packed_result(ctx, *infos)
    parts = result.fields if isinstance(result, TupleStructInfo) else (result,)
    for part, at in zip(parts, options["inplace_indices"]):
        if at != -1 and base_check(part, infos[at + 1]) is BaseCheckResult.FAIL_L0:
            raise ctx.error(
                f"a result does not match the in-place argument at index {at}",
                f"{part} and {infos[at + 1]}",
                "the struct info of the argument",
            )
    return result


call_pure_packed.infer(_packed_result)
call_builtin_with_ctx.infer(_infos_from_caller)


@relax_op("relax.make_closure", "func: Expr, args: Tuple")
def make_closure(func: Expr, args: ExprLike) -> Call:
    """A function together with values for its last parameters."""
    return make_closure.call(func, _operand_tuple(args))


@make_closure.infer
def _closure_info(ctx: Infer, func: StructInfo, args: TupleStructInfo) -> StructInfo:
    return ObjectStructInfo()


@relax_op("relax.invoke_closure", "closure: Expr, args: Tuple", pure=False)
def invoke_closure(closure: Expr, args: ExprLike, sinfo_args: OutInfo) -> Call:
    """Call a closure."""
    return _make(invoke_closure, [closure, _operand_tuple(args)], _infos(sinfo_args))


@relax_op("relax.invoke_pure_closure", "closure: Expr, args: Tuple")
def invoke_pure_closure(closure: Expr, args: ExprLike, sinfo_args: OutInfo) -> Call:
    """Call a closure that is promised to have no side effect."""
    return _make(invoke_pure_closure, [closure, _operand_tuple(args)], _infos(sinfo_args))


invoke_closure.infer(_infos_from_caller)
invoke_pure_closure.infer(_infos_from_caller)


@relax_op("relax.null_value", "")
def null_value() -> Call:
    """The absent value, where a function takes an optional object."""
    return null_value.call()


null_value.infer(lambda ctx: ObjectStructInfo())
null_value.reference(lambda: None)


@relax_op("relax.print", "*vals: Expr", pure=False)
def print(*values: ExprLike, format: str | Expr = "") -> Call:
    """Print values at run time; `format` has a `{}` for each."""
    text = StringImm(format) if isinstance(format, str) else format
    return print.call(text, *values)


@relax_op("relax.assert_op", "*vals: Expr", pure=False)
def assert_op(
    condition: Expr | PrimExpr,
    format_args: Any = None,
    format: str | Expr = "",
) -> Call:
    """Fail at run time with a message unless the condition, one bool, holds."""
    given = [] if format_args is None else format_args
    extra = list(given) if isinstance(given, (list, tuple)) else [given]
    text = StringImm(format) if isinstance(format, str) else format
    return assert_op.call(condition, text, *extra)


print.infer(lambda ctx, *vals: VOID_RESULT)


@assert_op.infer
def _assert_info(ctx: Infer, *vals: StructInfo) -> StructInfo:
    if len(vals) < 1:
        raise ctx.error("the condition is missing", "no operands", "a condition and a message")
    cond = vals[0]
    known_bool = isinstance(cond, (TensorStructInfo, PrimStructInfo)) and cond.dtype in (
        "bool",
        "void",
    )
    scalar = isinstance(cond, PrimStructInfo) or getattr(cond, "ndim", 0) in (-1, 0)
    if not (known_bool and scalar) and not isinstance(cond, ObjectStructInfo):
        raise ctx.dtype_error("the condition must be one bool", f"{cond}", "a bool scalar")
    if len(vals) > 1 and not isinstance(ctx.call.args[1], StringImm):
        raise ctx.error("the format is no string", f"{ctx.call.args[1]}", "a string")
    return VOID_RESULT


@relax_op("relax.shape_of", "input: Tensor")
def shape_of(expr: ExprLike) -> Call:
    """The shape of a tensor.   (n, m) tensor -> shape (n, m)"""
    return shape_of.call(expr)


@shape_of.infer
def _shape_of_info(ctx: Infer, input: TensorStructInfo) -> StructInfo:
    if input.values is not None:
        return ShapeStructInfo(input.values)
    return ShapeStructInfo(ndim=input.ndim)


shape_of.reference(lambda input: tuple(int(n) for n in input.shape))


@relax_op("relax.tensor_to_shape", "input: Tensor")
def tensor_to_shape(expr: ExprLike) -> Call:
    """The elements of a one-dimensional int64 tensor as a shape."""
    return tensor_to_shape.call(expr)


@tensor_to_shape.infer
def _tensor_to_shape_info(ctx: Infer, input: TensorStructInfo) -> StructInfo:
    if input.ndim not in (-1, 1):
        raise ctx.shape_error("the tensor must have one dimension", show_shape(input), "1")
    if input.dtype is not VOID and input.dtype != "int64":
        raise ctx.dtype_error("the tensor must be int64", f"{input.dtype}", "int64")
    count = None if input.values is None else const_int(input.values[0])
    return ShapeStructInfo(ndim=-1 if count is None else count)


tensor_to_shape.reference(lambda input: tuple(int(n) for n in input))


@relax_op("relax.shape_to_tensor", "input: Shape")
def shape_to_tensor(expr: ExprLike) -> Call:
    """The extents of a shape as a one-dimensional int64 tensor."""
    return shape_to_tensor.call(expr)


@shape_to_tensor.infer
def _shape_to_tensor_info(ctx: Infer, input: ShapeStructInfo) -> StructInfo:
    if input.ndim == -1:
        return TensorStructInfo(None, "int64", ndim=1)
    return TensorStructInfo((input.ndim,), "int64")


@shape_to_tensor.reference
def _shape_to_tensor_numpy(input: Any) -> Array:
    return np.asarray(input, dtype=np.int64)


@relax_op("relax.to_vdevice", "data: Tensor", ToVDeviceAttrs)
def to_vdevice(data: ExprLike, dst_vdevice: VDevice) -> Call:
    """The same tensor on another virtual device."""
    return to_vdevice.call(data, dst_vdevice=dst_vdevice)


def _to_vdevice_info(call: Call, bb: BlockBuilder) -> StructInfo:
    ctx = Infer(to_vdevice.op, to_vdevice.parameters, call, bb)
    data = ctx.operands()[0]
    assert isinstance(data, TensorStructInfo), "checked by its kind"
    vdevice = to_vdevice.options(ctx)["dst_vdevice"]
    return TensorStructInfo.of(data.shape, data.dtype, vdevice, data.ndim)


# not by `infer`: its result is on another device than its operand, on purpose
to_vdevice.op.set_attr("FInferStructInfo", _to_vdevice_info)
to_vdevice.reference(lambda data, dst_vdevice: data)


@relax_op("relax.hint_on_device", "data: Tensor", HintOnDeviceAttrs)
def hint_on_device(data: ExprLike, dst_vdevice: Any) -> Call:
    """The same tensor, with a wish on which device it should be."""
    kind = getattr(dst_vdevice, "dlpack_device_type", None)
    if not callable(kind) and not hasattr(dst_vdevice, "device_type"):
        raise DTypeError(
            message("hint_on_device: dst_vdevice is no device", found=f"{dst_vdevice!r}",
                    legal="tvm.cuda(0), ...")
        )  # fmt: skip
    device_type = int(kind()) if callable(kind) else int(dst_vdevice.device_type)
    index = getattr(dst_vdevice, "index", getattr(dst_vdevice, "device_id", 0))
    return hint_on_device.call(data, device_type=device_type, index=int(index))


hint_on_device.infer(lambda ctx, data, **options: data)
hint_on_device.reference(lambda data, **options: data)

# --- what compiled programs call for some of these ---


def render_object(val: Any) -> str:
    """A value of a running program as text."""
    if isinstance(val, str):
        return val
    if hasattr(val, "numpy"):
        return str(val.numpy())
    if isinstance(val, library().Array) or type(val) in (tuple, list):
        fields = [render_object(field) for field in val]
        return f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"
    return str(val)


def relax_print(format_str: str, *format_args: Any) -> None:
    """`relax.print` while a program runs."""
    texts = [render_object(arg) for arg in format_args]
    builtins.print(format_str.format(*texts) if format_str else " ".join(texts))


def relax_assert_op(condition: Any, format_str: str, *format_args: Any) -> None:
    """`relax.assert_op` while a program runs: an AssertionError unless the condition holds."""
    value = condition.numpy() if hasattr(condition, "numpy") else condition
    if np.size(value) != 1:
        raise ValueError(f"assert_op: the condition is one bool, found shape {np.shape(value)}")
    if not bool(value):
        texts = [render_object(arg) for arg in format_args]
        detail = format_str.format(*texts) if format_str else ", ".join(texts)
        raise AssertionError("Assertion Failed" + (f": {detail}" if detail else ""))


def relax_shape_to_tensor(shape_tuple: Any) -> Any:
    """`relax.shape_to_tensor` while a program runs."""
    from tvm.runtime import tensor  # only running programs call this

    return tensor(np.asarray([int(extent) for extent in shape_tuple], np.int64))


for _declared, _function in (
    (print, relax_print),
    (assert_op, relax_assert_op),
    (shape_to_tensor, relax_shape_to_tensor),
):
    _name = f"relax.run.{_declared.op.name.removeprefix('relax.')}"
    register_global_func(_name, _function)
    _declared.op.set_attr("FCallPacked", _name)

__all__ = [
    "assert_op", "call_builtin_with_ctx", "call_dps_packed", "call_inplace_packed",
    "call_pure_packed", "call_py_func", "call_tir", "call_tir_inplace", "call_tir_with_grad",
    "hint_on_device", "inline_operands", "invoke_closure", "invoke_pure_closure", "make_closure",
    "null_value", "print", "register_gradient", "relax_assert_op", "relax_print",
    "relax_shape_to_tensor", "render_object", "shape_of", "shape_to_tensor", "tensor_to_shape",
    "to_vdevice",
]  # fmt: skip

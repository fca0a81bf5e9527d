"""How Relax expressions print: variables, constants, tuples, calls."""

from __future__ import annotations

from typing import Any

from tvm.ir.attrs import Attrs, DictAttrs
from tvm.ir.expr import StructInfo
from tvm.ir.global_info import VDevice
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.relax.distributed.global_info import DeviceMesh
from tvm.relax.distributed.struct_info import DTensorStructInfo
from tvm.relax.expr import (
    OPAQUE_EXTERN,
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.op.declare import OpAttrs, options_of
from tvm.relax.struct_info import ShapeExpr, TupleStructInfo
from tvm.script.printer.doc import AssignDoc, ExprDoc, IndexDoc, ListDoc, LiteralDoc, TupleDoc
from tvm.script.printer.docsifier import Docsifier, Frame, rule

from .struct_info import mesh_doc, vdevice_text
from .symbols import TOKEN, dim_doc, dim_docs, function_frame


@rule(Var, DataflowVar, dialect=TOKEN)
def _var(var: Var, d: Docsifier) -> ExprDoc:
    found = d.name_doc(var.vid)
    if found is not None:
        return found
    if is_void(var):  # it was printed as a statement without a name
        return d.word(TOKEN, "tuple").call()
    # a free variable is declared by its annotation
    frame = function_frame(d)
    note = LiteralDoc(None) if var.struct_info_ is None else d.expr(var.struct_info_)
    name = define_var(var, frame, d)
    frame.stmts.append(AssignDoc(name, None, note))
    return name


def define_var(var: Var, frame: Frame, d: Docsifier) -> ExprDoc:
    """The name of a variable, which is given here if it has none yet."""
    found = d.name_doc(var.vid)
    return found if found is not None else d.define(var.vid, frame, var.name_hint or "v")


def is_void(expr: Any) -> bool:
    """True for the empty tuple, the value of what is done for its effects."""
    info = expr.struct_info_
    return isinstance(info, TupleStructInfo) and not info.fields


@rule(Constant, dialect=TOKEN)
def _constant(constant: Constant, d: Docsifier) -> ExprDoc:
    value = _scalar(constant)
    if isinstance(constant.struct_info_, DTensorStructInfo):
        data = d.metadata_of(constant.data, "ffi.Tensor") if value is None else LiteralDoc(value)
        return d.word(TOKEN, "dist.const").call(data, d.expr(constant.struct_info_))
    if value is None:
        return d.metadata_of(constant, constant.TYPE_KEY)
    dtype = LiteralDoc(str(constant.data.dtype))
    return d.word(TOKEN, "const").call(LiteralDoc(value), dtype)


def _scalar(constant: Constant) -> bool | int | float | None:
    if constant.data.ndim != 0:
        return None
    dtype = constant.data.dtype
    value = constant.data.numpy().reshape(()).item()
    if not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
        return None
    return value if isinstance(value, (bool, int, float)) else float(value)


@rule(Tuple, dialect=TOKEN)
def _tuple(value: Tuple, d: Docsifier) -> ExprDoc:
    if not value.fields:
        return d.word(TOKEN, "tuple").call()
    return TupleDoc(d.exprs(value.fields))


@rule(TupleGetItem, dialect=TOKEN)
def _tuple_get_item(item: TupleGetItem, d: Docsifier) -> ExprDoc:
    return IndexDoc(d.expr(item.tuple_value), [LiteralDoc(item.index)])


@rule(ShapeExpr, dialect=TOKEN)
def _shape_expr(shape: ShapeExpr, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "shape").call(ListDoc(dim_docs(shape.values, d)))


@rule(PrimValue, dialect=TOKEN)
def _prim_value(value: PrimValue, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "prim_value").call(dim_doc(value.value, d))


@rule(StringImm, dialect=TOKEN)
def _string_imm(value: StringImm, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "str").call(LiteralDoc(value.value))


@rule(DataTypeImm, dialect=TOKEN)
def _dtype_imm(value: DataTypeImm, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "dtype").call(LiteralDoc(str(value.value)))


@rule(ExternFunc, dialect=TOKEN)
def _extern_func(func: ExternFunc, d: Docsifier) -> ExprDoc:
    info = [] if _is_plain(func) else d.exprs([func.struct_info])
    return d.word(TOKEN, "ExternFunc").call(LiteralDoc(func.global_symbol), *info)


def _is_plain(func: ExternFunc) -> bool:
    """Nothing is known of its results but what a caller says."""
    info = func.struct_info_
    return info is OPAQUE_EXTERN or structural_equal(info, OPAQUE_EXTERN)


# --- calls ---

# Calls whose struct info is printed as `out_sinfo`, a list where there are several results.
_WITH_RESULT = {
    "relax.call_tir": "call_tir",
    "relax.call_tir_inplace": "call_tir_inplace",
    "relax.call_tir_with_grad": "call_tir_with_grad",
    "relax.call_dps_packed": "call_dps_packed",
    "relax.dist.call_tir_local_view": "dist.call_tir_local_view",
}


@rule(Call, dialect=TOKEN)
def _call(call: Call, d: Docsifier) -> ExprDoc:
    op = call.op
    if isinstance(op, ExternFunc) and _is_plain(op):
        args = [LiteralDoc(op.global_symbol), *d.exprs(call.args)]
        return d.word(TOKEN, "call_packed").call(*args, **_options(call, d))
    if not isinstance(op, Op):
        return d.expr(op).call(*d.exprs(call.args), **_options(call, d))
    if op.name in _WITH_RESULT and call.sinfo_args:
        name = _WITH_RESULT[op.name]
        if op.name == "relax.call_tir" and _is_distributed(call.sinfo_args[0]):
            name = "dist.call_tir"
        return _call_with_result(call, name, d)
    if op.name in _PACKED:
        return _call_packed(call, _PACKED[op.name], d)
    if op.name == "relax.call_py_func":
        callee, operands = call.args[0], call.args[1]
        function = LiteralDoc(getattr(callee, "value", str(callee)))
        return d.word(TOKEN, "call_py_func").call(
            function, d.expr(operands), out_sinfo=_results(call, d)
        )
    word = d.word(TOKEN, op.name.removeprefix("relax."))
    if op.name in _FORMATS:
        return _call_with_format(call, _FORMATS[op.name], word, d)
    if op.name in _OF_CALLEE and call.args:
        args = [_callee(call.args[0], d), *d.exprs(call.args[1:])]
        return word.call(*args, **_options(call, d))
    if op.name == "relax.hint_on_device":
        device = d.word(TOKEN, "device").call(**_attrs(call, d))
        return word.call(*d.exprs(call.args), device)
    return word.call(*d.exprs(call.args), **_options(call, d))


# Calls of a function that is known by name only.
_OF_CALLEE = ("relax.call_builtin_with_ctx", "relax.vm.call_tir_dyn")


def _is_distributed(info: StructInfo) -> bool:
    if isinstance(info, TupleStructInfo) and info.fields:
        return _is_distributed(info.fields[0])
    return isinstance(info, DTensorStructInfo)


# Calls with a format string: where it stands among the arguments. Printed without its name it
# would read back as one of the values.
_FORMATS = {"relax.print": 0, "relax.assert_op": 1}


def _call_with_format(call: Call, at: int, word: ExprDoc, d: Docsifier) -> ExprDoc:
    if len(call.args) <= at:
        return word.call(*d.exprs(call.args))
    values = d.exprs([*call.args[:at], *call.args[at + 1 :]])
    return word.call(*values, format=d.expr(call.args[at]))


def _callee(callee: object, d: Docsifier) -> ExprDoc:
    """A function known by name stands as its name."""
    return LiteralDoc(callee.global_symbol) if isinstance(callee, ExternFunc) else d.expr(callee)


def _call_with_result(call: Call, word: str, d: Docsifier) -> ExprDoc:
    # in the order in which they are read, which is that of declaring what is free
    function, operands = _callee(call.args[0], d), d.expr(call.args[1])
    kwargs: dict[str, ExprDoc] = {"out_sinfo": _results(call, d)}
    if len(call.args) > 2:
        kwargs["tir_vars"] = d.expr(call.args[2])
    if word == "call_tir_with_grad":
        told = _attrs(call, d)
        if not getattr(call.attrs, "te_grad_kwargs", None):
            told.pop("te_grad_kwargs", None)
        kwargs.update(told)
    elif word == "call_tir_inplace":
        indices = getattr(call.attrs, "inplace_indices", ())
        kwargs = {
            "out_sinfo": kwargs["out_sinfo"],
            "inplace_indices": ListDoc([LiteralDoc(int(i)) for i in indices]),
            **{key: kwargs[key] for key in ("tir_vars",) if key in kwargs},
        }
    return d.word(TOKEN, word).call(function, operands, **kwargs)


def _results(call: Call, d: Docsifier) -> ExprDoc:
    info = call.sinfo_args[0]
    if isinstance(info, TupleStructInfo):
        return ListDoc(d.exprs(info.fields))
    return d.expr(info)


_PACKED = {
    "relax.call_pure_packed": "call_pure_packed",
    "relax.call_inplace_packed": "call_inplace_packed",
}


def _call_packed(call: Call, word: str, d: Docsifier) -> ExprDoc:
    function, operands = _callee(call.args[0], d), d.exprs(call.args[1:])
    kwargs: dict[str, ExprDoc] = {}
    if word == "call_inplace_packed":
        indices = getattr(call.attrs, "inplace_indices", ())
        kwargs["inplace_indices"] = ListDoc([LiteralDoc(int(i)) for i in indices])
    elif call.attrs is not None:
        kwargs.update(_attrs(call, d))
    if call.sinfo_args:
        kwargs["sinfo_args"] = TupleDoc(d.exprs(call.sinfo_args))
    return d.word(TOKEN, word).call(function, *operands, **kwargs)


def _options(call: Call, d: Docsifier) -> dict[str, ExprDoc]:
    """Attributes, and the struct infos that the caller gave."""
    kwargs = _attrs(call, d)
    if call.sinfo_args:
        kwargs["sinfo_args"] = TupleDoc(d.exprs(call.sinfo_args))
    return kwargs


def _attrs(call: Call, d: Docsifier) -> dict[str, ExprDoc]:
    attrs = call.attrs
    if attrs is None:
        return {}
    if isinstance(attrs, OpAttrs):
        return {name: _attr(getattr(attrs, name), d) for name in options_of(call)}
    if not isinstance(attrs, DictAttrs):
        return {name: _attr(attrs[name], d) for name in list(attrs.keys())}
    told: dict[str, ExprDoc] = {}
    if isinstance(call.op, ExternFunc) and attrs.keys():  # may take attributes of any class
        told["attrs_type_key"] = LiteralDoc(attrs.TYPE_KEY)
    return {**told, **{name: _attr(attrs[name], d) for name in sorted(attrs.keys())}}


def _attr(value: Any, d: Docsifier) -> ExprDoc:
    if isinstance(value, VDevice):
        return LiteralDoc(vdevice_text(value, d))
    if isinstance(value, DeviceMesh):
        return mesh_doc(value, d)
    if isinstance(value, Attrs) and not isinstance(value, DictAttrs):
        return d.metadata_of(value, value.TYPE_KEY)
    return d.expr(value)

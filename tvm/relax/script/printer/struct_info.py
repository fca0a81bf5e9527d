"""How struct infos print."""

from __future__ import annotations

from typing import Any

from tvm.ir.global_info import VDevice
from tvm.ir.module import IRModule
from tvm.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.type import ObjectType, PackedFuncType, ShapeType, TensorType
from tvm.script.printer.doc import ExprDoc, ListDoc, LiteralDoc, TupleDoc
from tvm.script.printer.docsifier import Docsifier, rule

from .symbols import TOKEN, dim_doc, dim_docs


@rule(ObjectStructInfo, dialect=TOKEN)
def _object(info: ObjectStructInfo, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "Object")


@rule(PrimStructInfo, dialect=TOKEN)
def _prim(info: PrimStructInfo, d: Docsifier) -> ExprDoc:
    if info.value is None:
        return d.word(TOKEN, "Prim").call(LiteralDoc(str(info.dtype)))
    return d.word(TOKEN, "Prim").call(value=dim_doc(info.value, d))


@rule(ShapeStructInfo, dialect=TOKEN)
def _shape(info: ShapeStructInfo, d: Docsifier) -> ExprDoc:
    if info.values is None:
        return d.word(TOKEN, "Shape").call(ndim=LiteralDoc(info.ndim))
    return d.word(TOKEN, "Shape").call(ListDoc(dim_docs(info.values, d)))


@rule(TensorStructInfo, dialect=TOKEN)
def _tensor(info: TensorStructInfo, d: Docsifier) -> ExprDoc:
    args: list[ExprDoc] = []
    kwargs: dict[str, ExprDoc] = {}
    if isinstance(info.shape, ShapeExpr):
        args.append(TupleDoc(dim_docs(info.shape.values, d)))
    elif info.shape is not None:
        args.append(d.expr(info.shape))
    if not info.is_unknown_dtype():
        kwargs["dtype"] = LiteralDoc(str(info.dtype))
    if info.shape is None and not info.is_unknown_ndim():
        kwargs["ndim"] = LiteralDoc(info.ndim)
    if info.vdevice is not None:
        kwargs["vdevice"] = LiteralDoc(vdevice_text(info.vdevice, d))
    word = d.word(TOKEN, "Tensor")
    return word.call(*args, **kwargs) if args or kwargs else word


def vdevice_text(device: VDevice, d: Docsifier) -> str:
    """`llvm:0:global`: kind, number among the module's devices of that kind, memory."""
    kind = target_kind(device)
    module: Any = next((f.node for f in d.frames if isinstance(f.node, IRModule)), None)
    number = device.vdevice_id
    if module is not None:
        infos = module.global_infos.get("vdevice", ())
        same = [info for info in infos if target_kind(info) == kind]
        number = next((i for i, info in enumerate(same) if info is device), number)
    return f"{kind}:{number}:{device.memory_scope}"


def target_kind(device: Any) -> str:
    """The kind of a device's target, which may still be a string or a dict."""
    target: Any = getattr(device, "target", None)
    if isinstance(target, dict):
        return str(target.get("kind", ""))
    kind = getattr(target, "kind", None)
    if kind is not None:
        return str(getattr(kind, "name", kind))
    return str(target).split()[0] if target else ""


@rule(TupleStructInfo, dialect=TOKEN)
def _tuple(info: TupleStructInfo, d: Docsifier) -> ExprDoc:
    word = d.word(TOKEN, "Tuple")
    return word.call(*d.exprs(info.fields)) if info.fields else word


@rule(FuncStructInfo, dialect=TOKEN)
def _func(info: FuncStructInfo, d: Docsifier) -> ExprDoc:
    word = d.word(TOKEN, "Callable")
    purity = LiteralDoc(info.purity)
    if info.params is not None:
        return word.call(TupleDoc(d.exprs(info.params)), d.expr(info.ret), purity)
    if isinstance(info.derive_func, str):
        return word.call(derive_func=LiteralDoc(info.derive_func), purity=purity)
    return word.call(ret=d.expr(info.ret), purity=purity)


@rule(ShapeType, dialect=TOKEN)
def _shape_type(kind: ShapeType, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "Shape").call(ndim=LiteralDoc(kind.ndim))


@rule(TensorType, dialect=TOKEN)
def _tensor_type(kind: TensorType, d: Docsifier) -> ExprDoc:
    dtype, ndim = LiteralDoc(str(kind.dtype)), LiteralDoc(kind.ndim)
    return d.word(TOKEN, "Tensor").call(ndim=ndim, dtype=dtype)


@rule(ObjectType, dialect=TOKEN)
def _object_type(kind: ObjectType, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "Object")


@rule(PackedFuncType, dialect=TOKEN)
def _packed_func_type(kind: PackedFuncType, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "PackedFunc")

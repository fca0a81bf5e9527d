"""How struct infos print."""

from __future__ import annotations

from typing import Any

from tvm.ir.env_func import EnvFunc
from tvm.ir.global_info import VDevice
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.type import FuncType, TupleType
from tvm.relax.distributed.global_info import DeviceMesh
from tvm.relax.distributed.struct_info import DTensorStructInfo, Placement, PlacementSpec
from tvm.relax.expr import INFER_BY_SINFO_ARGS
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


@rule(DTensorStructInfo, dialect=TOKEN)
def _distributed_tensor(info: DTensorStructInfo, d: Docsifier) -> ExprDoc:
    """`R.DTensor((128, 64), "float32", "mesh[0]", "S[0], R")`; by name from the first gap on."""
    tensor = info.tensor_sinfo
    args: list[ExprDoc] = []
    kwargs: dict[str, ExprDoc] = {}

    def add(name: str, doc: ExprDoc) -> None:
        if kwargs:
            kwargs[name] = doc
        else:
            args.append(doc)

    if isinstance(tensor.shape, ShapeExpr):
        args.append(TupleDoc(dim_docs(tensor.shape.values, d)))
    elif tensor.shape is not None:
        args.append(d.expr(tensor.shape))
    dtype = None if tensor.is_unknown_dtype() else LiteralDoc(str(tensor.dtype))
    mesh, placement = mesh_doc(info.device_mesh, d), LiteralDoc(str(info.placement))
    if dtype is not None and args:
        add("dtype", dtype)
    elif dtype is not None:
        kwargs["dtype"] = dtype
    else:
        kwargs.setdefault("device_mesh", mesh)
    if "device_mesh" not in kwargs:
        add("device_mesh", mesh)
    add("placement", placement)
    if tensor.shape is None and not tensor.is_unknown_ndim():
        kwargs["ndim"] = LiteralDoc(tensor.ndim)
    return d.word(TOKEN, "DTensor").call(*args, **kwargs)


def mesh_doc(mesh: DeviceMesh, d: Docsifier) -> ExprDoc:
    """A mesh of the module by its name, any other one written out."""
    module: Any = next((f.node for f in d.frames if isinstance(f.node, IRModule)), None)
    infos = {} if module is None else module.global_infos
    for name, known in infos.items():
        for number, info in enumerate(known):
            if isinstance(info, DeviceMesh) and (
                info is mesh or structural_equal(info, mesh)
            ):
                return LiteralDoc(f"{name}[{number}]")
    return d.expr(mesh)


@rule(DeviceMesh, dialect=TOKEN)
def _mesh(mesh: DeviceMesh, d: Docsifier) -> ExprDoc:
    shape = TupleDoc([LiteralDoc(extent) for extent in mesh.shape])
    devices: ExprDoc = ListDoc([LiteralDoc(number) for number in mesh.device_ids])
    span = mesh.device_range
    if span is not None and any(isinstance(frame.node, IRModule) for frame in d.frames):
        devices = d.expr(span)
    elif span is not None:
        devices = d.word(TOKEN, "Range").call(d.expr(span.min), d.expr(span.min + span.extent))
    return d.word(TOKEN, "device_mesh").call(shape, devices)


@rule(Placement, PlacementSpec, dialect=TOKEN)
def _placement(placement: Placement | PlacementSpec, d: Docsifier) -> ExprDoc:
    return LiteralDoc(str(placement))


def vdevice_text(device: VDevice, d: Docsifier) -> str:
    """`llvm:0`: kind, and number among the module's devices of that kind.

    A device that no module lists is told by its own number, and its memory where that is special.
    """
    kind = target_kind(device)
    module: Any = next((f.node for f in d.frames if isinstance(f.node, IRModule)), None)
    infos = () if module is None else module.global_infos.get("vdevice", ())
    same = [info for info in infos if target_kind(info) == kind]
    number = next((i for i, info in enumerate(same) if info is device), None)
    if number is not None:
        return f"{kind}:{number}"
    memory = "" if device.memory_scope == "global" else f":{device.memory_scope}"
    return f"{kind}:{device.vdevice_id}{memory}"


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
    told: dict[str, ExprDoc] = {}  # what differs from any function
    if isinstance(info.derive_func, EnvFunc):
        if info.derive_func.name == INFER_BY_SINFO_ARGS:
            return word  # as any packed function
        told["derive_func"] = LiteralDoc(info.derive_func.name)
    elif not isinstance(info.ret, ObjectStructInfo):
        told["ret"] = d.expr(info.ret)
    if info.purity:
        told["purity"] = purity
    return word.call(**told) if told else word


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


@rule(TupleType, token=TOKEN)
def _tuple_type(kind: TupleType, d: Docsifier) -> ExprDoc:
    word = d.word(TOKEN, "Tuple")
    return word.call(*d.exprs(kind.fields)) if kind.fields else word


@rule(FuncType, token=TOKEN)
def _func_type(kind: FuncType, d: Docsifier) -> ExprDoc:
    params = TupleDoc(d.exprs(kind.arg_types))
    return d.word(TOKEN, "Callable").call(params, d.expr(kind.ret_type))


@rule(PackedFuncType, dialect=TOKEN)
def _packed_func_type(kind: PackedFuncType, d: Docsifier) -> ExprDoc:
    return d.word(TOKEN, "PackedFunc")

"""Storage and the tensors in it, as programs have them whose memory is planned.

    let %storage = memory.alloc_storage(40, [10], 64, virtual_device=...);
    let %tensor = memory.alloc_tensor(%storage, 0, [10], const_shape=[10]);

The type of a storage is `Storage` of `core.rly` (`mod.import_from_std("core.rly")`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.error import TVMError
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem
from tvm.relay.op.annotation import as_virtual_device
from tvm.relay.op.declare import OPAQUE, Expr, Relate, relay_op
from tvm.relay.op.kernel import not_compiled
from tvm.relay.op.refusals import refusing
from tvm.relay.ty import TensorType
from tvm.target.virtual_device import VirtualDevice


def _storage_type(ctx: Relate) -> Type:
    for var in ctx.type_definitions:
        if var.name_hint == "Storage":
            return TypeCall(var, ())
    raise ctx.fail("the module has no type Storage", 'mod.import_from_std("core.rly")')


@relay_op("memory.alloc_storage", "AllocStorageAttrs", operands=("size", "shape", "alignment"),
          relation=_storage_type, pattern=OPAQUE, hidden=("device", "dtype_hint"),
          optional={"dtype": "float32", "virtual_device": None},
          lower=not_compiled)  # fmt: skip
def _alloc_storage(
    size: Expr, shape: Expr, alignment: Expr, device: VirtualDevice, dtype_hint: str
) -> Call:
    """A block of `size` bytes on a device."""
    operands = (size, alignment) if shape is None else (size, shape, alignment)
    return _alloc_storage.call(*operands, dtype=dtype_hint, virtual_device=device)


_alloc_storage.op.set_num_inputs(-1)  # older programs say no shape


@refusing
def alloc_storage(size: Expr, alignment: Expr, device: Any, dtype_hint: str = "float32") -> Call:
    """A block of `size` bytes (an int64 scalar), at an address that `alignment` divides."""
    made: Call = _alloc_storage(size, None, alignment, as_virtual_device(device), dtype_hint)
    return made


def _alloc_tensor_type(ctx: Relate) -> TensorType:
    shape: Sequence[Any] | None = ctx.attrs.assert_shape
    if not shape and isinstance(ctx.attrs.const_shape, Constant):
        shape = [int(extent) for extent in ctx.attrs.const_shape.data.numpy().reshape(-1)]
    if shape is None:
        raise ctx.fail("the extents are not known", "const_shape or assert_shape")
    return TensorType(shape, ctx.attrs.dtype)


@relay_op("memory.alloc_tensor", "AllocTensorAttrs", operands=("storage", "offset", "shape"),
          relation=_alloc_tensor_type, pattern=OPAQUE,
          optional={"const_shape": None, "assert_shape": None, "dtype": "float32"},
          lower=not_compiled)  # fmt: skip
def alloc_tensor(
    storage: Expr, offset: Expr, shape: Any, dtype: str = "float32",
    assert_shape: Sequence[int] | None = None,
) -> Call:  # fmt: skip
    """A tensor in a storage, `offset` bytes after its start.

    The extents are numbers, or a vector of the program; then `assert_shape` says what the type
    of the result has for them.
    """
    given = _extents(shape)
    return alloc_tensor.call(
        storage, offset, given, dtype=dtype, assert_shape=assert_shape,
        const_shape=given if isinstance(given, Constant) else None,
    )  # fmt: skip


def _extents(shape: Any) -> Any:
    import numpy as np

    if not isinstance(shape, (list, tuple)):
        return shape
    return Constant(np.array([int(extent) for extent in shape], "int64"))


@relay_op("memory.kill", operands=("data",), relation=lambda ctx: TupleType(()), pattern=OPAQUE,
          lower=not_compiled)  # fmt: skip
def kill(data: Expr) -> Call:
    """Nothing; from here on what `data` holds may be overwritten."""
    return kill.call(data)


def flatten_tuple_type(ty: Type) -> list[TensorType]:
    """The tensors of a type, tuples entered, from left to right."""
    if isinstance(ty, TupleType):
        return [tensor for field in ty.fields for tensor in flatten_tuple_type(field)]
    if not isinstance(ty, TensorType):
        raise TVMError(f"flatten_tuple_type: {ty} is neither a tensor nor a tuple of tensors")
    return [ty]


def from_tuple_type(ty: Type, expr: Expr) -> list[Any]:
    """The tensors in a value of type `ty`, from left to right."""
    if isinstance(ty, TupleType):
        items = [TupleGetItem(expr, at) for at in range(len(ty.fields))]
        return [e for f, item in zip(ty.fields, items) for e in from_tuple_type(f, item)]
    return [expr]


@refusing
def to_tuple_type(ty: Type, exprs: Sequence[Any]) -> Any:
    """A value of type `ty` of its tensors from left to right."""
    if not isinstance(ty, TupleType):
        return exprs[0]
    fields, at = [], 0
    for field in ty.fields:
        count = len(flatten_tuple_type(field))
        fields.append(to_tuple_type(field, exprs[at : at + count]))
        at += count
    return Tuple(fields)

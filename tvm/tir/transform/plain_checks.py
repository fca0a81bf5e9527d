"""The entry of a packed function in few words: one assertion around the next, then the body.

    assert num_args == 1, "f: num_args should be 1"
    assert not T.isnullptr(args), "f: args pointer is NULL"
    A_type_index: T.int32 = T.tvm_struct_get(args, 0, 13, "int32")
    assert A_type_index == 0 or ..., "f: Expect arg[0] to be pointer"
    ...
    assert 1 == A_ndim, "f.A.ndim is expected to equal 1"
    n: T.int32 = T.Cast("int32", A_extent_0)
    assert ..., "f.A.dtype is expected to be float32"

What tensors define comes before what is asserted of them. `ArgumentChecks` says what it found.
"""

from __future__ import annotations

import functools

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField

from .argument_checks import HANDLE, INT32, INT64, ArgumentChecks, TensorArgument, item_bytes
from .number_checks import legal_kinds, value_of


class PlainChecks(ArgumentChecks):
    """The checks and the definitions of the parameters of a function that takes tensors."""

    _first: e.Var | None = None  # of which tensor the number of the device is

    def around(self, body: s.Stmt) -> s.Stmt:
        """The body within all assertions and definitions."""
        for step in reversed(self._steps):
            if isinstance(step, tuple):
                body = s.LetStmt(step[0], step[1], body)
            else:
                assert isinstance(step, s.AssertStmt), "nothing else is collected"
                body = s.AssertStmt(step.condition, step.message, body)
        return body

    def check_count(self, num_args: e.Var) -> None:
        """As many arguments as parameters."""
        count = len(self._params)
        self._assert(ops.equal(num_args, count), f"{self._function}: num_args should be {count}")
        given = ops.logical_not(builtin.isnullptr(self._args))
        self._assert(given, f"{self._function}: args pointer is NULL")

    def bind_all(self) -> None:
        """Check and define every parameter, then all that tensors define, then check those."""
        kinds = []
        for number, param in enumerate(self._params):
            index = self._any(number, StructField.ANY_TYPE_INDEX, INT32)
            kinds.append(self._named(f"{param.name}_type_index", index))
            legal, name = legal_kinds(kinds[-1], param.dtype)
            self._assert(legal, f"{self._function}: Expect arg[{number}] to be {name}")
        for number, param in enumerate(self._params):
            self._define(param, value_of(self._args, number, kinds[number], param.dtype))
        tensors = [
            TensorArgument(number, param, self._buffers[param], handle=param)
            for number, param in enumerate(self._params)
            if param in self._buffers
        ]
        own = [self._define_parts(tensor) for tensor in tensors]
        for tensor, defined in zip(tensors, own):
            self._check_parts(tensor, defined)

    def _define_parts(self, tensor: TensorArgument) -> set[int]:
        """What the tensor defines; gives the axes whose extents are defined here."""
        name, buffer = self._name(tensor), tensor.buffer
        some = ops.logical_not(builtin.isnullptr(tensor.handle))
        self._assert(some, f"{name} is expected to have non-NULL DLTensor* pointer")
        ndim = self._read_field(tensor, "ndim", StructField.TENSOR_NDIM, "int32")
        count = len(buffer.shape)
        self._assert(ops.equal(count, ndim), f"{name}.ndim is expected to equal {count}")
        own = {axis for axis, extent in enumerate(buffer.shape) if self._is_open(extent)}
        self._define_sizes(tensor)
        if self.device_id is None:
            field = self._field(tensor, StructField.TENSOR_DEVICE_ID, INT32)
            self.device_id, self._first = self._named("dev_id", field), tensor.handle
        self._define(buffer.data, self._field(tensor, StructField.TENSOR_DATA, HANDLE))
        return own

    def _check_parts(self, tensor: TensorArgument, own: set[int]) -> None:
        name, buffer = self._name(tensor), tensor.buffer
        self._assert(self._of_type(tensor), f"{name}.dtype is expected to be {buffer.dtype}")
        for axis, extent in enumerate(buffer.shape):
            self._require_defined(extent, tensor)
            if axis not in own:
                found = ops.cast(self._extent(tensor, axis), extent.dtype)
                self._constrain(extent, found, f"{name}.shape[{axis}]")
        if buffer.strides:
            for axis, stride in enumerate(buffer.checked_strides()):
                self._require_defined(stride, tensor)
                found = ops.cast(self._stride_or_compact(tensor, axis), stride.dtype)
                self._constrain(stride, found, f"{name}.strides[{axis}]")
        elif buffer.shape:
            compact = self._is_compact(tensor)
            if not ops.is_one(compact):
                self._assert(compact, f"{name}.strides: expected to be compact array")
        self._require_defined(buffer.elem_offset, tensor)
        size = ops.const(item_bytes(buffer.dtype), INT64)
        wanted = ops.multiply(ops.cast(buffer.elem_offset, INT64), size)
        self._constrain(wanted, self._offset(tensor), f"{name}.byte_offset")
        device = self._field(tensor, StructField.TENSOR_DEVICE_TYPE, INT32)
        self._constrain(ops.const(self._device, INT32), device, f"{name}.device_type")
        if self.device_id is not None and tensor.handle is not self._first:
            number = self._field(tensor, StructField.TENSOR_DEVICE_ID, INT32)
            self._constrain(self.device_id, number, f"{name}.device_id")
        present: PrimExpr = ops.logical_not(builtin.isnullptr(buffer.data))
        for axis, extent in enumerate(buffer.shape):
            if not isinstance(extent, e.IntImm) or extent.value == 0:
                present = ops.logical_or(ops.equal(self._extent(tensor, axis), 0), present)
        self._assert(present, f"{name} is expected to have non-NULL data pointer")

    def _of_type(self, tensor: TensorArgument) -> PrimExpr:
        dtype = tensor.buffer.dtype
        wanted = (
            (StructField.TENSOR_TYPE_CODE, "uint8", dtype.type_code),
            (StructField.TENSOR_TYPE_BITS, "uint8", dtype.bits),
            (StructField.TENSOR_TYPE_LANES, "uint16", dtype.lanes),
        )
        fields: list[PrimExpr] = []
        for field, kind, value in wanted:
            held = builtin.tvm_struct_get(tensor.handle, 0, int(field), kind)
            fields.append(ops.equal(held, ops.const(value, kind)))
        return functools.reduce(ops.logical_and, fields)

    def _is_compact(self, tensor: TensorArgument) -> PrimExpr:
        dense: PrimExpr = ops.const(1, INT64)
        holds: list[PrimExpr] = []
        for axis in reversed(range(len(tensor.buffer.shape))):
            extent = ops.cast(tensor.buffer.shape[axis], INT64)
            alone = ops.equal(extent, ops.const(1, INT64))
            holds.append(ops.logical_or(alone, ops.equal(dense, self._stride(tensor, axis))))
            dense = ops.multiply(dense, extent)
        compact = functools.reduce(ops.logical_and, holds)
        return ops.logical_or(self._has_no_strides(tensor), compact)

    def _name(self, tensor: TensorArgument) -> str:
        return f"{self._function}.{self._params[tensor.number].name}"

    def _constrain(self, wanted: PrimExpr, found: PrimExpr, name: str) -> None:
        holds = ops.equal(wanted, found)
        if not ops.is_one(holds):
            self._assert(holds, f"Argument {name} has an unsatisfied constraint: {holds}")

    def _assert(self, holds: PrimExpr, text: str) -> None:
        self._steps.append(s.AssertStmt(holds, e.StringImm(text), s.Evaluate(0)))

"""The checks at the entry of a packed function: what each argument must be, and what it defines.

A check is one comparison on the way that is always taken. All that a message needs (the text, the
values found) is worked out only after a check has failed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeGuard

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import TENSOR_OBJECT_HEADER_BYTES, StructField, TypeIndex

INT32 = DataType("int32")
INT64 = DataType("int64")
FLOAT64 = DataType("float64")
HANDLE = DataType("handle")

CPU = 1  # kDLCPU


def _device_text(device: int) -> str:
    name = "the CPU" if device == CPU else "the device of the function's target"
    return f"{name} (device type {device})"


# A check (or several), or the definition of a name for all that follows.
Step: TypeAlias = "s.Stmt | tuple[e.Var, PrimExpr]"


class ArgumentChecks:
    """Collects checks and definitions in the order in which they have to run."""

    def __init__(self, function: str, args: e.Var, params: Sequence[e.Var],
                 buffers: dict[e.Var, Buffer], device: int = CPU) -> None:  # fmt: skip
        self._device = device  # where tensors have to be
        self.device_id: PrimExpr | None = None  # which of the devices of that kind, if no CPU
        self._function = function
        self._args = args
        self._params = params
        self._buffers = buffers
        self._steps: list[Step] = []
        self._defined: set[e.Var] = set()

    def around(self, body: s.Stmt) -> s.Stmt:
        """The body after all checks, with all names defined."""
        return _nested(self._steps, [body])

    @property
    def depth(self) -> int:
        """How many checks and definitions there are."""
        return len(self._steps)

    def bind(self, num_args: e.Var) -> None:
        """All checks, and the definitions of all parameters."""
        self.check_count(num_args)
        self.bind_all()

    # --- the pieces that a caller puts together ---

    def check_count(self, num_args: e.Var) -> None:
        """As many arguments as parameters."""
        wanted = len(self._params)
        self._require(
            ops.equal(num_args, wanted),
            "ArgumentCountError",
            f"call {self._function} with {wanted} argument{'' if wanted == 1 else 's'}",
            "{} were given",
            self.signature(),
            num_args,
        )

    def bind_all(self) -> None:
        """Check and define every parameter; sizes are defined where they first stand alone."""
        for number, param in enumerate(self._params):
            if param not in self._buffers:
                self._bind_scalar(number, param)
        tensors = [
            TensorArgument(number, param, self._buffers[param])
            for number, param in enumerate(self._params)
            if param in self._buffers
        ]
        for tensor in tensors:
            self._check_value(tensor)
            with self._passing(tensor):
                self._check_kind(tensor)
        for tensor in tensors:
            self._define_sizes(tensor)
        for tensor in tensors:
            with self._passing(tensor):
                self._check_sizes(tensor)
                self._check_memory(tensor)
        for tensor in tensors:
            self._define(tensor.buffer.data, self._field(tensor, StructField.TENSOR_DATA, HANDLE))

    def signature(self) -> str:
        """The function as a person would write it."""
        parts = [
            f"{_plain_name(p)}: {_tensor_text(self._buffers[p])}"
            if p in self._buffers else f"{p.name}: {p.dtype}"
            for p in self._params
        ]  # fmt: skip
        return f"{self._function}({', '.join(parts)})"

    # --- scalars ---

    def _bind_scalar(self, number: int, param: e.Var) -> None:
        kind = self._kind_of(number, param.name)
        dtype = param.dtype
        value: PrimExpr
        if dtype.is_floating:
            legal = _any_of(kind, TypeIndex.FLOAT, TypeIndex.INT, TypeIndex.BOOL)
            whole = ops.cast(self._any(number, StructField.ANY_UNION_VALUE, INT64), dtype)
            exact = ops.cast(self._any(number, StructField.ANY_UNION_VALUE, FLOAT64), dtype)
            value = e.Select(ops.equal(kind, int(TypeIndex.FLOAT)), exact, whole)
        elif dtype.is_handle:
            legal, value = self._bind_handle(number, kind)
        else:
            legal = _any_of(kind, TypeIndex.INT, TypeIndex.BOOL)
            value = ops.cast(self._any(number, StructField.ANY_UNION_VALUE, INT64), dtype)
        where = f"call {self._function}: argument {number} ({param.name})"
        self._require(legal, "DTypeError", where, "{}", _scalar_text(param), _kind_text(kind))
        self._define(param, value)
        if dtype.is_integer and not dtype.is_bool and dtype.bits < 64:
            held = self._any(number, StructField.ANY_UNION_VALUE, INT64)
            self._require(
                ops.equal(ops.cast(param, INT64), held), "ArgumentValueError", where,
                "{}", f"{_scalar_text(param)}, {_range_text(dtype)}", held,
            )  # fmt: skip

    def _bind_handle(self, number: int, kind: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Any address; of a tensor object that of its DLTensor."""
        legal = _any_of(
            kind, TypeIndex.OPAQUE_PTR, TypeIndex.NONE, TypeIndex.DLTENSOR_PTR, TypeIndex.RAW_STR
        )
        legal = ops.bitwise_or(legal, ops.greater_equal(kind, int(TypeIndex.FIRST_OBJECT)))
        return legal, self._tensor_address(number, kind)

    # --- tensors ---

    def _tensor_address(self, number: int, kind: PrimExpr) -> PrimExpr:
        held = self._any(number, StructField.ANY_UNION_VALUE, HANDLE)
        header = ops.const(TENSOR_OBJECT_HEADER_BYTES, INT64)
        skip = e.Select(ops.equal(kind, int(TypeIndex.TENSOR)), header, ops.const(0, INT64))
        return builtin.handle_add_byte_offset(held, skip)

    @contextmanager
    def _passing(self, tensor: TensorArgument) -> Iterator[None]:
        """What is read of the tensor here has no name behind it.

        So names do not nest by all that is read of all parameters, of which networks have hundreds.
        """
        steps, parts = self._steps, tensor.parts
        self._steps, tensor.parts = [], dict(parts)
        yield
        steps.append(_nested(self._steps, []))
        self._steps, tensor.parts = steps, parts

    def _check_value(self, tensor: TensorArgument) -> None:
        """It is a tensor, and this is its address."""
        kind = self._kind_of(tensor.number, tensor.name)
        address = _any_of(kind, TypeIndex.DLTENSOR_PTR, TypeIndex.OPAQUE_PTR)
        held = self._any(tensor.number, StructField.ANY_UNION_VALUE, HANDLE)
        some = ops.bitwise_and(address, ops.logical_not(builtin.isnullptr(held)))
        self._require(
            ops.bitwise_or(_any_of(kind, TypeIndex.TENSOR), some),
            "DTypeError", self._where(tensor), "{}", _tensor_text(tensor.buffer),
            _kind_text(kind, "a null address"),  # others are accepted
        )  # fmt: skip
        self._define(tensor.handle, self._tensor_address(tensor.number, kind))

    def _check_kind(self, tensor: TensorArgument) -> None:
        """It has this type, as many dimensions, and is on the CPU."""
        buffer, where = tensor.buffer, self._where(tensor)
        ndim = self._read_field(tensor, "ndim", StructField.TENSOR_NDIM, "int32")
        self._require(
            ops.equal(ndim, len(buffer.shape)), "ShapeError", where,
            "{} dimensions", f"{len(buffer.shape)} dimensions, as in {_tensor_text(buffer)}", ndim,
        )  # fmt: skip
        self._check_dtype(tensor, where)
        device = self._read_field(tensor, "device", StructField.TENSOR_DEVICE_TYPE, "int32")
        self._require(
            ops.equal(device, self._device), "ArgumentValueError", where,
            "a tensor on device type {}", f"a tensor on {_device_text(self._device)}", device,
        )  # fmt: skip
        if self._device != CPU:
            self._check_device_id(tensor, where)

    def _check_device_id(self, tensor: TensorArgument, where: str) -> None:
        """All tensors are on one device of the kind."""
        if self.device_id is None:  # asked again by others, where no name of this one reaches
            field = StructField.TENSOR_DEVICE_ID
            self.device_id = builtin.tvm_struct_get(tensor.handle, 0, field, "int32")
            return
        number = self._read_field(tensor, "device_id", StructField.TENSOR_DEVICE_ID, "int32")
        self._require(
            ops.equal(number, self.device_id), "ArgumentValueError", where,
            "a tensor on device number {}", "all tensors on one device", number,
        )  # fmt: skip

    def _check_dtype(self, tensor: TensorArgument, where: str) -> None:
        dtype = tensor.buffer.dtype
        code, bits, lanes = [
            self._read_field(tensor, name, field, kind)
            for name, field, kind in (
                ("code", StructField.TENSOR_TYPE_CODE, "uint8"),
                ("bits", StructField.TENSOR_TYPE_BITS, "uint8"),
                ("lanes", StructField.TENSOR_TYPE_LANES, "uint16"),
            )
        ]
        right_lanes = ops.equal(lanes, ops.const(dtype.lanes, lanes.dtype))
        found = _both_are(code, dtype.type_code, bits, dtype.bits)
        if dtype.is_bool:  # numpy's bool arrives as an unsigned byte from some producers
            found = ops.bitwise_or(found, _both_are(code, 1, bits, 1))
        kind = _word(_TYPE_NAMES, ops.cast(code, INT32))
        vector = ops.not_equal(lanes, ops.const(1, lanes.dtype))
        tail = e.Select(vector, e.StringImm(", in vectors"), e.StringImm(""))
        self._require(
            ops.bitwise_and(found, right_lanes), "ArgumentDTypeError",
            where, "{}{}{}", f"{dtype}", kind, bits, tail,
        )  # fmt: skip

    def _define_sizes(self, tensor: TensorArgument) -> None:
        buffer = tensor.buffer
        for axis, extent in enumerate(buffer.shape):
            if self._is_open(extent):
                self._define_size(extent, self._extent(tensor, axis))
        for axis, stride in enumerate(buffer.checked_strides()):
            if self._is_open(stride):
                value = self._stride_or_compact(tensor, axis)
                if buffer.buffer_type == "auto_broadcast":  # a single element stands for all
                    alone = ops.equal(self._extent(tensor, axis), ops.const(1, INT64))
                    value = e.Select(alone, ops.const(0, INT64), value)
                self._define_size(stride, value)
        offset = buffer.elem_offset
        if self._is_open(offset):
            size = ops.const(item_bytes(buffer.dtype), INT64)
            self._define_size(offset, ops.floordiv(self._offset(tensor), size))

    def _is_open(self, expr: PrimExpr) -> TypeGuard[e.Var]:
        """Whether a size stands alone, and nothing has given it a value yet."""
        return isinstance(expr, e.Var) and expr not in self._defined

    def _define_size(self, size: e.Var, value: PrimExpr) -> None:
        self._define(size, ops.cast(value, size.dtype))

    def _read(self, tensor: TensorArgument, what: str, value: PrimExpr) -> e.Var:
        """A variable for a part of a tensor; it is read where it is first asked for."""
        var = tensor.parts.get(what)
        if var is None:
            var = tensor.parts[what] = self._named(f"{tensor.name}_{what}", value)
        return var

    def _read_field(
        self, tensor: TensorArgument, what: str, field: StructField, kind: str
    ) -> e.Var:
        return self._read(tensor, what, self._field(tensor, field, DataType(kind)))

    def _extent(self, tensor: TensorArgument, axis: int) -> PrimExpr:
        shape = self._read_field(tensor, "shape", StructField.TENSOR_SHAPE, "handle")
        return self._read(tensor, f"extent_{axis}", _element(shape, axis))

    def _has_no_strides(self, tensor: TensorArgument) -> PrimExpr:
        strides = self._read_field(tensor, "strides", StructField.TENSOR_STRIDES, "handle")
        return self._read(tensor, "no_strides", builtin.isnullptr(strides))

    def _stride(self, tensor: TensorArgument, axis: int) -> PrimExpr:
        """Of a tensor that has strides; else some number, read without a branch from its shape."""
        missing = self._has_no_strides(tensor)
        shape = self._read_field(tensor, "shape", StructField.TENSOR_SHAPE, "handle")
        numbers = e.Select(missing, shape, tensor.parts["strides"])
        return _element(self._read(tensor, "numbers", numbers), axis)

    def _stride_or_compact(self, tensor: TensorArgument, axis: int) -> PrimExpr:
        """The given stride; a tensor without strides is dense."""
        dense: PrimExpr = ops.const(1, INT64)
        for inner in range(axis + 1, len(tensor.buffer.shape)):
            dense = ops.multiply(dense, self._extent(tensor, inner))
        return e.Select(self._has_no_strides(tensor), dense, self._stride(tensor, axis))

    def _offset(self, tensor: TensorArgument) -> PrimExpr:
        in_bytes = self._field(tensor, StructField.TENSOR_BYTE_OFFSET, DataType("uint64"))
        return self._read(tensor, "byte_offset", ops.cast(in_bytes, INT64))

    def _check_sizes(self, tensor: TensorArgument) -> None:
        where = self._where(tensor)
        for axis, extent in enumerate(tensor.buffer.shape):
            self._require_defined(extent, tensor)
            actual = self._extent(tensor, axis)
            wanted = ops.cast(extent, INT64)
            shown = _tensor_text(tensor.buffer)
            legal, values = f"{_size_text(extent)}, as in {shown}", [actual]
            if not isinstance(extent, e.IntImm):
                legal, values = f"{{}} ({_size_text(extent)}), as in {shown}", [
                    actual, wanted,
                ]  # fmt: skip
            self._require(
                ops.equal(actual, wanted), "ShapeError", where,
                f"dimension {axis} is {{}}", legal, *values,
            )  # fmt: skip
        if tensor.buffer.checked_strides():
            self._check_given_strides(tensor, where)
        else:
            self._check_dense(tensor, where)

    def _check_given_strides(self, tensor: TensorArgument, where: str) -> None:
        for axis, stride in enumerate(tensor.buffer.strides):
            self._require_defined(stride, tensor)
            actual = self._stride_or_compact(tensor, axis)
            wanted = ops.cast(stride, INT64)
            alone = ops.equal(self._extent(tensor, axis), ops.const(1, INT64))
            self._require(
                ops.bitwise_or(ops.equal(actual, wanted), alone), "ShapeError",
                where, f"stride {axis} is {{}}", f"{{}} ({stride})", actual, wanted,
            )  # fmt: skip

    def _check_dense(self, tensor: TensorArgument, where: str) -> None:
        """Row-major without gaps; the stride of a dimension of extent one means nothing."""
        shape = tensor.buffer.shape
        if not shape or any(ops.is_zero(extent) for extent in shape):
            return
        dense: PrimExpr = ops.const(1, INT64)
        matches: list[PrimExpr] = []
        empty: list[PrimExpr] = []
        for axis in range(len(shape) - 1, -1, -1):
            extent = ops.cast(shape[axis], INT64)
            if not ops.is_one(extent):
                match = ops.equal(self._stride(tensor, axis), dense)
                if not isinstance(extent, e.IntImm):
                    match = ops.bitwise_or(match, ops.equal(extent, 1))
                    empty.append(ops.equal(extent, 0))
                matches.append(match)
            dense = ops.multiply(dense, extent)
        if not matches:
            return
        holds = functools.reduce(ops.bitwise_and, reversed(matches))
        for accepted in (self._has_no_strides(tensor), *empty):
            holds = ops.bitwise_or(accepted, holds)
        found = [self._stride_or_compact(tensor, axis) for axis in range(len(shape))]
        self._require(
            holds, "ShapeError", where,
            f"strides ({', '.join(['{}'] * len(found))})",
            f"a row-major tensor without gaps: {_tensor_text(tensor.buffer)}; "
            "make a contiguous copy first", *found,
        )  # fmt: skip

    def _check_memory(self, tensor: TensorArgument) -> None:
        buffer, where = tensor.buffer, self._where(tensor)
        size = item_bytes(buffer.dtype)
        self._require_defined(buffer.elem_offset, tensor)
        wanted = ops.multiply(ops.cast(buffer.elem_offset, INT64), size)
        found = self._offset(tensor)
        legal = "{} bytes"
        self._require(
            ops.equal(found, wanted), "ArgumentValueError", where,
            "data that starts {} bytes behind its address", legal, found, wanted,
        )  # fmt: skip
        self._check_address(tensor, where)

    def _check_address(self, tensor: TensorArgument, where: str) -> None:
        """There is memory, and no element lies across two that the machine would have there."""
        buffer, unit = tensor.buffer, _aligned_bytes(tensor.buffer.dtype)
        data = self._read_field(tensor, "data", StructField.TENSOR_DATA, "handle")
        address = self._read(tensor, "address", builtin.reinterpret(INT64, data))
        present = ops.not_equal(address, ops.const(0, INT64))
        for axis, extent in enumerate(buffer.shape):
            if not isinstance(extent, e.IntImm) or extent.value == 0:
                present = ops.bitwise_or(present, ops.equal(self._extent(tensor, axis), 0))
        if unit > 1:
            odd = ops.bitwise_and(address, ops.const(unit - 1, INT64))
            present = ops.bitwise_and(present, ops.equal(odd, ops.const(0, INT64)))
        self._require(
            present, "ArgumentValueError", where, "data at address {}",
            "a tensor with memory" + (f", at a multiple of {unit} bytes" if unit > 1 else ""),
            address,
        )  # fmt: skip

    # --- helpers ---

    def _where(self, tensor: TensorArgument) -> str:
        return f"call {self._function}: argument {tensor.number} ({tensor.name})"

    def _any(self, number: int, field: StructField, dtype: DataType) -> PrimExpr:
        return builtin.tvm_struct_get(self._args, number, int(field), dtype)

    def _field(self, tensor: TensorArgument, field: StructField, dtype: DataType) -> PrimExpr:
        return builtin.tvm_struct_get(tensor.handle, 0, int(field), dtype)

    def _define(self, var: e.Var, value: PrimExpr) -> None:
        self._defined.add(var)
        self._steps.append((var, value))

    def _named(self, name: str, value: PrimExpr) -> e.Var:
        """A variable for a value that is read once."""
        var = e.Var(name, value.dtype)
        self._define(var, value)
        return var

    def _kind_of(self, number: int, name: str) -> e.Var:
        """What sort of value an argument is."""
        return self._named(f"{name}_kind", self._any(number, StructField.ANY_TYPE_INDEX, INT32))

    def _require_defined(self, expr: PrimExpr, tensor: TensorArgument) -> None:
        for node in walk(expr):
            if isinstance(node, e.Var) and node not in self._defined:
                raise CheckError(
                    message(
                        f"make {self._function} callable from outside",
                        found=f"variable {node.name} of {tensor.name}: "
                        f"{_tensor_text(tensor.buffer)} stands alone in no shape",
                        legal=f"a parameter {node.name}, or a dimension that is {node.name}",
                    )
                )

    def _require(
        self, condition: PrimExpr, kind: str, asked: str, found: str, legal: str, *values: PrimExpr
    ) -> None:
        text = f"{kind}: {message(asked, found=found, legal=legal)}"
        note: PrimExpr = e.StringImm(text)
        if values:
            note = builtin.tvm_tuple(note, *values)
        self._steps.append(s.AssertStmt(condition, note, s.Evaluate(0)))


# By the type index of a TVMFFIAny: of plain values, and of objects, whose indices start at 64.
_ADDRESS = "an address"
_VALUE_NAMES = (
    "None", "int", "bool", "float", _ADDRESS, "a data type", "a device", _ADDRESS,
    "a string", "bytes", "an object", "a string", "bytes", "an object",
)  # fmt: skip
_OBJECT_NAMES = (
    "an object", "a string", "bytes", "an error", "a function", "a shape", "a tensor", "an array",
    "a map", "a module", "a Python object", "an object",
)  # fmt: skip

# By DLPack's type code: where name and number of bits are the name of the type, that name.
_TYPE_NAMES = ("int", "uint", "float", "a type of ", "bfloat", "complex", "bool", "a type of ")
_NAME_BYTES = 16


class TensorArgument:
    """A parameter that is a buffer."""

    def __init__(
        self, number: int, param: e.Var, buffer: Buffer, handle: e.Var | None = None
    ) -> None:
        self.number = number
        self.name = _plain_name(param)
        self.buffer = buffer
        self.handle = e.Var(f"{buffer.name}_handle", HANDLE) if handle is None else handle
        self.parts: dict[str, e.Var] = {}  # what was read of the DLTensor


def _nested(steps: Sequence[Step], last: list[s.Stmt]) -> s.Stmt:
    """The steps one after the other, then what comes last, where all their names are known."""
    parts = last
    for step in reversed(steps):
        if isinstance(step, s.Stmt):
            parts.append(step)
        else:
            parts = [s.LetStmt(step[0], step[1], s.SeqStmt.flatten(parts[::-1]))]
    return s.SeqStmt.flatten(parts[::-1])


def _plain_name(param: e.Var) -> str:
    return param.name.removesuffix("_handle").removeprefix("var_")


def item_bytes(dtype: DataType) -> int:
    """Bytes of one element."""
    return (dtype.bits * dtype.lanes + 7) // 8


def _aligned_bytes(dtype: DataType) -> int:
    """What compiled code relies on: the alignment of a C scalar."""
    return 1 << min((dtype.bits - 1) // 8, 7).bit_length()


def _word(names: Sequence[str], index: PrimExpr) -> PrimExpr:
    """One of the names, worked out at run time; indices beyond the last select the last name."""
    last = ops.const(len(names) - 1, INT32)
    table = "".join(name.ljust(_NAME_BYTES, "\0") for name in names)
    offset = ops.multiply(e.Min(index, last), _NAME_BYTES)
    return builtin.handle_add_byte_offset(e.StringImm(table), offset)


def _kind_text(kind: PrimExpr, address: str = _ADDRESS) -> PrimExpr:
    """What a value is, by its type index; objects stand behind the values."""
    values = [address if name == _ADDRESS else name for name in _VALUE_NAMES]
    gap = int(TypeIndex.FIRST_OBJECT) - len(values)
    plain = e.Min(kind, ops.const(len(values) - 1, INT32))
    is_plain = ops.less(kind, int(TypeIndex.FIRST_OBJECT))
    index = e.Select(is_plain, plain, ops.subtract(kind, gap))
    return _word([*values, *_OBJECT_NAMES], index)


def _element(numbers: PrimExpr, index: int) -> PrimExpr:
    return builtin.tvm_struct_get(numbers, index, int(StructField.INT64_ELEMENT), INT64)


def _any_of(kind: PrimExpr, *wanted: TypeIndex) -> PrimExpr:
    """Like all checks without a branch: fewer blocks are compiled faster."""
    first, *others = [ops.equal(kind, int(index)) for index in wanted]
    return functools.reduce(ops.bitwise_or, others, first)


def _both_are(x: PrimExpr, wanted_x: int, y: PrimExpr, wanted_y: int) -> PrimExpr:
    return ops.bitwise_and(
        ops.equal(x, ops.const(wanted_x, x.dtype)), ops.equal(y, ops.const(wanted_y, y.dtype))
    )


def _scalar_text(param: e.Var) -> str:
    if param.dtype.is_handle:
        return "an address or a tensor"
    return f"a number, {param.name}: {param.dtype}"


def _range_text(dtype: DataType) -> str:
    low = -(1 << (dtype.bits - 1)) if dtype.is_int else 0
    return f"from {low} to {low + (1 << dtype.bits) - 1}"


def _tensor_text(buffer: Buffer) -> str:
    """float32[16, n]."""
    return f"{buffer.dtype}[{', '.join(_size_text(extent) for extent in buffer.shape)}]"


def _size_text(extent: PrimExpr) -> str:
    if isinstance(extent, e.IntImm):
        return str(extent.value)
    return extent.name if isinstance(extent, e.Var) else str(extent)

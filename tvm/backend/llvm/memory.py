"""Loads and stores to LLVM text: scalars, contiguous and strided vectors, gathers, masks.

Vector accesses carry the alignment of one element: on CPUs with vectors, an unaligned instruction
at an aligned address costs nothing, and a wrong promise would end the process.
"""

from __future__ import annotations

from typing import Final

from tvm.error import CheckError, InternalError, message
from tvm.ir.expr import PrimExpr
from tvm.support.compiled import mypyc_attr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer

from .expr import ExprEmitter, mangled
from .function_text import FunctionText
from .lanes import at_elements, lanes_of
from .types import (
    element_bytes,
    held_bits,
    is_bit,
    is_padded,
    memory_element,
    memory_type,
    value_type,
    vector_of,
)

# Up to this stride, whole vectors are read and the wanted lanes picked; beyond, lanes are gathered.
WIDEST_PICK: Final = 4


@mypyc_attr(allow_interpreted_subclasses=True)
class MemoryEmitter(ExprEmitter):
    """Adds loads and stores to expressions."""

    def __init__(self, out: FunctionText) -> None:
        super().__init__(out)
        self.volatile: set[e.Var] = set()  # memory that others change meanwhile

    def _volatile(self, buffer: Buffer) -> str:
        return "volatile " if buffer.data in self.volatile else ""

    def _refuse_volatile(self, buffer: Buffer, what: str) -> None:
        if buffer.data in self.volatile:
            raise CheckError(
                message(
                    f"The masked {what} intrinsic does not support declaring {what} as volatile.",
                    found=f"volatile_scope around buffer {buffer.name}",
                    where=f"function {self.out.signature.name}",
                    legal=f"{what}s without a predicate and with consecutive lanes",
                )
            )

    # --- loads ---

    def visit_buffer_load_(self, op: e.BufferLoad) -> str:
        index = self._only_index(op.buffer, op.indices)
        if op.predicate is not None:
            return self._masked_load(op, index, op.predicate)
        if index.dtype.is_scalar:
            return self._load_at(op.buffer, op.dtype, self.as_int64(index))
        ramp = as_ramp(index)
        if ramp is not None:
            found = self._strided_load(op, *ramp)
            if found is not None:
                return found
        return self._near_lanes(op, index, None) or self._gather(op.buffer, op.dtype, index, None)

    def _near_lanes(
        self, op: e.BufferLoad, index: PrimExpr, mask: str | None, predicate: PrimExpr | None = None
    ) -> str | None:
        """Lanes at constant offsets out of few vectors; None if they are not all close together."""
        dtype, buffer = op.dtype, op.buffer
        found = lanes_of(index)
        whole = not dtype.is_scalable and dtype.lanes > 1 and dtype.lanes & (dtype.lanes - 1) == 0
        if found is None or not whole or buffer.dtype.lanes != 1 or self._volatile(buffer):
            return None
        base, lanes = found
        low, count = min(lanes), dtype.lanes
        lanes = [lane - low for lane in lanes]
        span = max(lanes) + 1
        if span > WIDEST_PICK * count:
            return None
        width = max(1 << (min(span, count) - 1).bit_length(), 2)
        start = self.as_int64(base if low == 0 else e.Add(base, e.IntImm(base.dtype, low)))
        if mask is None and span == 1:
            return self.splat(dtype, self._load_at(buffer, buffer.dtype, start))
        if mask is None and span < width:
            return None  # nothing behind the last lane is read
        part = dtype.with_lanes(width)
        if mask is None:
            starts = [*range(0, span - width, width), span - width]
            parts = [
                self.out.temp(
                    f"load {memory_type(part)}, ptr {self._further(buffer, start, first)}, "
                    f"align {element_bytes(dtype)}"
                ) for first in starts
            ]  # fmt: skip
        else:
            starts = list(range(0, span, width))
            parts = [
                self._wanted(op, start, first, part, lanes, mask, predicate) for first in starts
            ]
        if width < count:
            raw = self._pick(memory_element(part), parts[0], width, lanes)
        else:
            raw = self._pick_from(dtype, parts, starts, lanes)
        if mask is not None and len(set(lanes)) < count:  # lanes out of an element for others
            bools, kind = vector_of("i1", count), memory_type(dtype)
            raw = self.out.temp(
                f"select {bools} {mask}, {kind} {raw}, {kind} zeroinitializer"
            )
        return self.from_memory(dtype, raw)

    def _wanted(
        self, op: e.BufferLoad, start: str, first: int, part: DataType, lanes: list[int],
        mask: str, predicate: PrimExpr | None,
    ) -> str:  # fmt: skip
        """A vector of which only those elements are read that a lane of the mask wants.

        The first lane that wants an element speaks for all others, as masks go from the front.
        A mask that compares indices is made again, for elements; others are spread.
        """
        address = self._further(op.buffer, start, first)
        told = None
        if predicate is not None and part.lanes > 1:  # one element is no vector to compare
            told = at_elements(predicate, lanes, first, part.lanes)
        if told is not None:
            bits = [f"i1 {int(n in lanes)}" for n in range(first, first + part.lanes)]
            kind, held = vector_of("i1", part.lanes), self.visit_data(told)
            if "i1 0" in bits:
                held = self.out.both(kind, held, f"<{', '.join(bits)}>")
            return self._lanes_if(op, part, address, held)
        count, bools = op.dtype.lanes, vector_of("i1", op.dtype.lanes)
        own = [
            str(lanes.index(offset) if offset in lanes else count)
            for offset in range(first, first + part.lanes)
        ]
        spread = self.out.temp(
            f"shufflevector {bools} {mask}, {bools} zeroinitializer, "
            f"<{part.lanes} x i32> <{', '.join(f'i32 {lane}' for lane in own)}>"
        )
        return self._lanes_if(op, part, address, spread)

    def _only_index(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> PrimExpr:
        if len(indices) == 1:
            return indices[0]
        if not indices:
            return e.IntImm("int32", 0)
        raise InternalError(
            message(
                f"access of buffer {buffer.name}",
                found=f"{len(indices)} indices",
                where=f"function {self.out.signature.name}",
                legal="one index; tir.FlattenBuffer brings buffers to this form",
            )
        )

    def address(self, buffer: Buffer, index: str) -> str:
        """The address of element number `index`."""
        base = self.visit_var_(buffer.data)
        if index == "0":
            return base
        return self.out.temp(
            f"getelementptr inbounds {memory_type(buffer.dtype)}, ptr {base}, i64 {index}"
        )

    def _load_at(self, buffer: Buffer, dtype: DataType, index: str) -> str:
        address = self.address(buffer, index)
        align = element_bytes(buffer.dtype)
        how = self._volatile(buffer)
        raw = self.out.temp(f"load {how}{memory_type(dtype)}, ptr {address}, align {align}")
        return self.from_memory(dtype, raw)

    def from_memory(self, dtype: DataType, raw: str) -> str:
        """A loaded value in its form for computing."""
        if not is_padded(dtype):
            return raw
        if not is_bit(dtype):
            return self.out.temp(f"trunc {memory_type(dtype)} {raw} to {value_type(dtype)}")
        zero = self.splat(_holder(dtype), "0")
        return self.out.temp(f"icmp ne {memory_type(dtype)} {raw}, {zero}")

    def to_memory(self, dtype: DataType, value: str) -> str:
        """A value in its form for storing."""
        if not is_padded(dtype):
            return value
        how = "zext" if is_bit(dtype) or dtype.is_uint else "sext"
        return self.out.temp(f"{how} {value_type(dtype)} {value} to {memory_type(dtype)}")

    def _strided_load(self, op: e.BufferLoad, base: PrimExpr, stride: int) -> str | None:
        """Whole vectors where lanes lie close together; None where they must be gathered."""
        dtype, buffer = op.dtype, op.buffer
        if stride == 1:
            return self._load_at(buffer, dtype, self.as_int64(base))
        if buffer.dtype.lanes != 1 or dtype.is_scalable:
            return None
        if stride == 0:
            return self.splat(dtype, self._load_at(buffer, buffer.dtype, self.as_int64(base)))
        if not -WIDEST_PICK <= stride <= WIDEST_PICK:
            return None
        span = (dtype.lanes - 1) * abs(stride) + 1
        start = self.as_int64(base)
        if stride < 0:
            start = self.out.temp(f"add nsw i64 {start}, {1 - span}")
        lanes = range(0, span, stride) if stride > 0 else range(span - 1, -1, stride)
        if dtype.lanes & (dtype.lanes - 1) == 0 and not self._volatile(buffer):
            starts = [*range(0, span - dtype.lanes, dtype.lanes), span - dtype.lanes]
            parts = [
                self.out.temp(
                    f"load {memory_type(dtype)}, ptr {self._further(buffer, start, first)}, "
                    f"align {element_bytes(dtype)}"
                ) for first in starts
            ]  # fmt: skip
            return self.from_memory(dtype, self._pick_from(dtype, parts, starts, list(lanes)))
        raw = self.out.temp(
            f"load {self._volatile(buffer)}{vector_of(memory_element(dtype), span)}, "
            f"ptr {self.address(buffer, start)}, align {element_bytes(dtype)}"
        )
        return self.from_memory(dtype, self._pick(memory_element(dtype), raw, span, list(lanes)))

    def _further(self, buffer: Buffer, start: str, more: int) -> str:
        """The address of the element `more` elements behind number `start`."""
        return self.address(
            buffer, start if not more else self.out.temp(f"add nsw i64 {start}, {more}")
        )

    def _pick_from(
        self, dtype: DataType, parts: list[str], starts: list[int], lanes: list[int]
    ) -> str:
        """The elements at `lanes` out of whole vectors, of which part i begins at starts[i].

        Two vectors at a time: processors have an instruction for that, and for no more.
        """
        count, kind = dtype.lanes, memory_type(dtype)
        home = [max(i for i, first in enumerate(starts) if first <= lane) for lane in lanes]
        picked: list[tuple[str, list[int]]] = []
        for i in range(0, len(parts), 2):
            pair = parts[i : i + 2] if i + 1 < len(parts) else [parts[i], "poison"]
            here = [
                str(lane - starts[own] + (own - i) * count) if own in (i, i + 1) else "poison"
                for lane, own in zip(lanes, home)
            ]
            mask = [f"i32 {lane}" for lane in here]
            text = f"shufflevector {kind} {pair[0]}, {kind} {pair[1]}, <{count} x i32> "
            picked.append((self.out.temp(f"{text}<{', '.join(mask)}>"), [i, i + 1]))
        while len(picked) > 1:
            (a, in_a), (b, in_b) = picked[:2]
            mask = [f"i32 {n if own in in_a else n + count}" for n, own in enumerate(home)]
            text = f"shufflevector {kind} {a}, {kind} {b}, <{count} x i32> <{', '.join(mask)}>"
            picked[:2] = [(self.out.temp(text), [*in_a, *in_b])]
        return picked[0][0]

    def _pick(self, element: str, value: str, lanes: int, picks: list[int]) -> str:
        """Some lanes of a vector; those of a conjunction as the conjunction of those of its parts.

        So LLVM sees early, while it simplifies, where no lane of a mask is left: with AVX2 and no
        AVX-512 it ends the process over a load that turns out to have none while it chooses
        instructions.
        """
        conjuncts = self.out.conjuncts.get(value)
        if conjuncts is not None:
            a, b = (self._pick(element, part, lanes, picks) for part in conjuncts)
            return self.out.both(vector_of(element, len(picks)), a, b)
        kind, mask = vector_of(element, lanes), ", ".join(f"i32 {i}" for i in picks)
        return self.out.temp(
            f"shufflevector {kind} {value}, {kind} poison, <{len(picks)} x i32> <{mask}>"
        )

    def _masked_load(self, op: e.BufferLoad, index: PrimExpr, predicate: PrimExpr) -> str:
        self._refuse_volatile(op.buffer, "load")
        mask = self.visit_data(predicate)
        ramp = (index, 1) if index.dtype.is_scalar else as_ramp(index)
        if ramp is None or ramp[1] != 1:
            found = None
            if _are_apart(index) or _from_the_front(predicate):
                found = self._near_lanes(op, index, mask, predicate)
            return found or self._gather(op.buffer, op.dtype, index, mask)
        address = self.address(op.buffer, self.as_int64(ramp[0]))
        if op.dtype.is_scalar:
            return self._lane_if(op, address, mask)
        return self.from_memory(op.dtype, self._lanes_if(op, op.dtype, address, mask))

    def _lanes_if(self, op: e.BufferLoad, dtype: DataType, address: str, mask: str) -> str:
        """A vector from memory under a mask; zero where it does not hold."""
        whole, lanes = "", 0
        for first, part in _in_powers(dtype, self._most_bits_of_load()):
            own = self._part_of_mask(mask, dtype, first, part)
            piece = self._power_if(op, part, self._lane_at(dtype, address, first), own)
            whole = self._behind(dtype, whole, lanes, piece, part.lanes) if lanes else piece
            lanes += part.lanes
        return whole

    def _most_bits_of_load(self) -> int | None:
        """The bits that one masked load may have: those of a register, for AVX without AVX-512,
        where a register of no lane ends the process (see `_pick`)."""
        avx = self.module.has_feature("avx") and not self.module.has_feature("avx512f")
        return 256 if avx else None

    def _part_of_mask(self, mask: str, dtype: DataType, first: int, part: DataType) -> str:
        return self._some_lanes("i1", mask, dtype.lanes, first, part.lanes)

    def _some_lanes(self, element: str, value: str, lanes: int, first: int, count: int) -> str:
        """So many lanes of a vector, from one on; a scalar if it is one."""
        if count == lanes:
            return value
        if count == 1:
            kind = vector_of(element, lanes)
            return self.out.temp(f"extractelement {kind} {value}, i64 {first}")
        return self._pick(element, value, lanes, list(range(first, first + count)))

    def _lane_at(self, dtype: DataType, address: str, lane: int) -> str:
        """The address of one lane of a vector in memory."""
        if not lane:
            return address
        return self.out.temp(f"getelementptr {memory_element(dtype)}, ptr {address}, i64 {lane}")

    def _behind(self, dtype: DataType, front: str, lanes: int, back: str, more: int) -> str:
        """A vector of `lanes` with a shorter one behind it."""
        element = memory_element(dtype)
        kind = vector_of(element, lanes)
        if more == 1:
            wide = self.out.temp(f"insertelement {kind} poison, {element} {back}, i64 0")
        elif more < lanes:
            short = vector_of(element, more)
            picks = ", ".join([f"i32 {i}" for i in range(more)] + ["i32 poison"] * (lanes - more))
            wide = self.out.temp(
                f"shufflevector {short} {back}, {short} poison, <{lanes} x i32> <{picks}>"
            )
        else:
            wide = back
        mask = ", ".join(f"i32 {i}" for i in range(lanes + more))
        return self.out.temp(
            f"shufflevector {kind} {front}, {kind} {wide}, <{lanes + more} x i32> <{mask}>"
        )

    def _power_if(self, op: e.BufferLoad, dtype: DataType, address: str, mask: str) -> str:
        if dtype.is_scalar:
            return self._element_if(op.buffer, dtype, address, mask)
        stored, kind = _memory_form(dtype), memory_type(dtype)
        bools = vector_of("i1", dtype.lanes, dtype.is_scalable)
        name = f"llvm.masked.load.{mangled(stored)}.p0"
        callee = self.module.declare(name, kind, f"ptr, i32, {bools}, {kind}")
        return self.out.temp(
            f"call {kind} {callee}(ptr {address}, i32 {element_bytes(op.buffer.dtype)}, "
            f"{bools} {mask}, {kind} zeroinitializer)"
        )

    def _lane_if(self, op: e.BufferLoad, address: str, mask: str) -> str:
        """A scalar load under a condition; zero where it does not hold."""
        return self.from_memory(op.dtype, self._element_if(op.buffer, op.dtype, address, mask))

    def _element_if(self, buffer: Buffer, dtype: DataType, address: str, mask: str) -> str:
        """What `_lane_if` loads, as it lies in memory."""
        out, kind = self.out, memory_type(dtype)
        here, yes, after = out.block, out.label("load.if"), out.label("load.end")
        out.line(f"br i1 {mask}, label %{yes}, label %{after}")
        out.begin(yes)
        raw = out.temp(f"load {kind}, ptr {address}, align {element_bytes(buffer.dtype)}")
        out.line(f"br label %{after}")
        out.begin(after)
        return out.temp(f"phi {kind} [ {_zero(dtype)}, %{here} ], [ {raw}, %{yes} ]")

    def _addresses(self, buffer: Buffer, index: PrimExpr) -> str:
        """The addresses of several elements."""
        if buffer.dtype.lanes != 1:
            raise CheckError(
                message(
                    f"access of buffer {buffer.name} with scattered vector indices",
                    found=f"elements of {buffer.dtype}",
                    legal="scalar elements, or consecutive ones",
                )
            )
        base = self.visit_var_(buffer.data)
        numbers = self.visit_index(index)
        return self.out.temp(
            f"getelementptr {memory_element(buffer.dtype)}, ptr {base}, "
            f"{value_type(index.dtype)} {numbers}"
        )

    def _all_lanes(self, dtype: DataType, mask: str | None) -> str:
        if mask is not None:
            return mask
        return self.splat(DataType("bool").with_lanes(dtype.lanes, dtype.is_scalable), "true")

    def _gather(self, buffer: Buffer, dtype: DataType, index: PrimExpr, mask: str | None) -> str:
        addresses = self._addresses(buffer, index)
        stored, kind = _memory_form(dtype), memory_type(dtype)
        pointers = vector_of("ptr", dtype.lanes, dtype.is_scalable)
        bools = vector_of("i1", dtype.lanes, dtype.is_scalable)
        ptr_name = mangled(DataType("handle").with_lanes(dtype.lanes, dtype.is_scalable))
        name = f"llvm.masked.gather.{mangled(stored)}.{ptr_name}"
        callee = self.module.declare(name, kind, f"{pointers}, i32, {bools}, {kind}")
        raw = self.out.temp(
            f"call {kind} {callee}({pointers} {addresses}, i32 {element_bytes(dtype)}, "
            f"{bools} {self._all_lanes(dtype, mask)}, {kind} zeroinitializer)"
        )
        return self.from_memory(dtype, raw)

    # --- stores ---

    def emit_store(self, op: s.BufferStore) -> None:
        """buffer[index] = value."""
        index = self._only_index(op.buffer, op.indices)
        value = self.visit_data(op.value)
        dtype = op.value.dtype
        stored = self.to_memory(dtype, value)
        ramp = (index, 1) if index.dtype.is_scalar else as_ramp(index)
        if ramp is None or ramp[1] != 1:
            self._scatter(op, dtype, stored, index)
            return
        address = self.address(op.buffer, self.as_int64(ramp[0]))
        kind, align = memory_type(dtype), element_bytes(op.buffer.dtype)
        if op.predicate is None:
            how = self._volatile(op.buffer)
            self.out.line(f"store {how}{kind} {stored}, ptr {address}, align {align}")
            return
        self._refuse_volatile(op.buffer, "store")
        mask = self.visit_data(op.predicate)
        if dtype.is_scalar:
            self._store_if(mask, f"store {kind} {stored}, ptr {address}, align {align}")
            return
        for first, part in _in_powers(dtype):
            own = self._part_of_mask(mask, dtype, first, part)
            where, element = self._lane_at(dtype, address, first), memory_element(dtype)
            piece = self._some_lanes(element, stored, dtype.lanes, first, part.lanes)
            if part.is_scalar:
                self._store_if(own, f"store {element} {piece}, ptr {where}, align {align}")
            else:
                self._store_power_if(part, piece, where, align, own)

    def _store_power_if(
        self, dtype: DataType, value: str, address: str, align: int, mask: str
    ) -> None:
        kind, bools = memory_type(dtype), vector_of("i1", dtype.lanes, dtype.is_scalable)
        name = f"llvm.masked.store.{mangled(_memory_form(dtype))}.p0"
        callee = self.module.declare(name, "void", f"{kind}, ptr, i32, {bools}")
        self.out.line(
            f"call void {callee}({kind} {value}, ptr {address}, i32 {align}, {bools} {mask})"
        )

    def _store_if(self, condition: str, store: str) -> None:
        out = self.out
        yes, after = out.label("store.if"), out.label("store.end")
        out.line(f"br i1 {condition}, label %{yes}, label %{after}")
        out.begin(yes)
        out.line(store)
        out.line(f"br label %{after}")
        out.begin(after)

    def _scatter(self, op: s.BufferStore, dtype: DataType, stored: str, index: PrimExpr) -> None:
        mask = None if op.predicate is None else self.visit_data(op.predicate)
        addresses, kind = self._addresses(op.buffer, index), memory_type(dtype)
        pointers = vector_of("ptr", dtype.lanes, dtype.is_scalable)
        bools = vector_of("i1", dtype.lanes, dtype.is_scalable)
        ptr_name = mangled(DataType("handle").with_lanes(dtype.lanes, dtype.is_scalable))
        name = f"llvm.masked.scatter.{mangled(_memory_form(dtype))}.{ptr_name}"
        callee = self.module.declare(name, "void", f"{kind}, {pointers}, i32, {bools}")
        self.out.line(
            f"call void {callee}({kind} {stored}, {pointers} {addresses}, "
            f"i32 {element_bytes(dtype)}, {bools} {self._all_lanes(dtype, mask)})"
        )


def _in_powers(dtype: DataType, most_bits: int | None = None) -> list[tuple[int, DataType]]:
    """Parts of a vector whose lanes are powers of two, and where each begins.

    LLVM splits masked loads of other counts, such as 24 lanes, and may end the process over it.
    """
    most = dtype.lanes if most_bits is None else max(1, most_bits // dtype.bits)
    if dtype.is_scalable or (not dtype.lanes & (dtype.lanes - 1) and dtype.lanes <= most):
        return [(0, dtype)]
    found: list[tuple[int, DataType]] = []
    first = 0
    while first < dtype.lanes:
        count = min(most, 1 << ((dtype.lanes - first).bit_length() - 1))
        found.append((first, dtype.with_lanes(count)))
        first += count
    return found


def _memory_form(dtype: DataType) -> DataType:
    """The type that the bits in memory have."""
    return _holder(dtype) if is_padded(dtype) else dtype


def _holder(dtype: DataType) -> DataType:
    return DataType(f"int{held_bits(dtype)}").with_lanes(dtype.lanes, dtype.is_scalable)


def _zero(dtype: DataType) -> str:
    if dtype.is_handle:
        return "null"
    return "0" if not dtype.is_float else "zeroinitializer"


def as_ramp(index: PrimExpr) -> tuple[PrimExpr, int] | None:
    """(base, stride) if the lanes of `index` are base, base + stride, ...; else None."""
    if isinstance(index, e.Ramp):
        return (index.base, index.stride.value) if isinstance(index.stride, e.IntImm) else None
    if isinstance(index, e.Broadcast):
        return index.value, 0
    if isinstance(index, (e.Add, e.Sub)):
        a, b = as_ramp(index.a), as_ramp(index.b)
        if a is None or b is None:
            return None
        sign = 1 if isinstance(index, e.Add) else -1
        return type(index)(a[0], b[0]), a[1] + sign * b[1]
    if isinstance(index, e.Mul):
        return _scaled(index.a, index.b) or _scaled(index.b, index.a)
    return None


def _scaled(ramp: PrimExpr, factor: PrimExpr) -> tuple[PrimExpr, int] | None:
    if not (isinstance(factor, e.Broadcast) and isinstance(factor.value, e.IntImm)):
        return None
    found = as_ramp(ramp)
    if found is None:
        return None
    return e.Mul(found[0], factor.value), found[1] * factor.value.value


def _are_apart(index: PrimExpr) -> bool:
    """True if no two lanes access one element."""
    found = lanes_of(index)
    return found is not None and len(set(found[1])) == len(found[1])


def _from_the_front(mask: PrimExpr) -> bool:
    """True if no lane of the mask holds where one before does not."""
    if isinstance(mask, e.And):
        return _from_the_front(mask.a) and _from_the_front(mask.b)
    if isinstance(mask, e.Broadcast):
        return True
    if not isinstance(mask, (e.LT, e.LE)) or not isinstance(mask.b, e.Broadcast):
        return False
    found = lanes_of(mask.a)
    return found is not None and found[1] == sorted(found[1])

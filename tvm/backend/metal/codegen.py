"""Lowered kernels to the Metal shading language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tvm.backend.c_family.code import Code
from tvm.backend.c_family.expr import Rule
from tvm.backend.c_family.intrinsics import rule_in
from tvm.backend.device.intrinsics import COMMON, written_out
from tvm.backend.device.kernels import DeviceEmitter, DeviceText, emit_kernels
from tvm.backend.device.stmt import Scratch, storage_scope
from tvm.backend.device.text import SourceFile
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer

_HEAD: Final = "#include <metal_stdlib>\nusing namespace metal;\n"
_TYPES: Final[dict[str, str]] = {
    "bool": "bool",
    "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
    "float16": "half", "float32": "float",
    "handle": "void*", "void": "void",
}  # fmt: skip
_RENAMED: Final = {"round": "rint", "nearbyint": "rint"}  # ties to even, as numpy
_KEYWORDS: Final = """
alignas alignof and asm auto bool break case catch char class compl const constant constexpr
continue decltype default delete device do double else enum explicit extern false float for
fragment friend goto half if inline int kernel long metal mutable namespace new not operator or
private protected public return short signed sizeof static struct switch template this thread
threadgroup true typedef typename uchar uint ulong union unsigned ushort using vertex virtual void
volatile while min max abs clamp exp log sin cos tan sqrt pow floor ceil round trunc rint fma dot
select length arg blockIdx threadIdx half2 half4 int2 int4 float2 float4 uint3 INFINITY NAN
"""
_RULES: Final[dict[str, Rule]] = {
    **COMMON,
    **written_out("erf", "log1p", "hypot", "nextafter"),
}


def _shuffle(suffix: str) -> Rule:
    def rule(emit: MetalEmitter, op: e.Call) -> str:
        own = e.op_name(op).startswith("tir.metal.")
        value, at = op.args[:2] if own else op.args[1:3]
        if not own and str(op.args[3]) != str(op.args[4]):
            emit.refuse(f"a shuffle of {op.args[3]} threads", "shuffles of the whole simdgroup",
                        f"a width of {op.args[4]}")  # fmt: skip
        given = f"{emit.lane_of(value, emit.lane)}, {emit.lane_of(at, None)}"
        return f"simd_shuffle{suffix}({given})"

    return rule


for _suffix in ("", "_up", "_down"):
    _RULES[f"tir.tvm_warp_shuffle{_suffix}"] = _shuffle(_suffix)
    _RULES[f"tir.metal.simd_shuffle{_suffix}"] = _shuffle(_suffix)


@rule_in(_RULES, "tvm_warp_activemask")
def _activemask(emit: MetalEmitter, op: e.Call) -> str:
    return "0u"  # shuffles take no mask: all of a simdgroup shuffle together


def _matrix(emit: MetalEmitter, var: PrimExpr, index: PrimExpr) -> str:
    return f"{emit.lane_of(var, None)}[{emit.lane_of(index, None)}]"


@rule_in(_RULES, "make_filled_simdgroup_matrix")
def _fill(emit: MetalEmitter, op: e.Call) -> str:
    var, index, value, columns, rows = op.args[:5]
    assert isinstance(var, e.Var), "matrices lie behind variables"
    kind = emit.matrix_elements[var]
    shape = f"{emit.lane_of(columns, None)}, {emit.lane_of(rows, None)}"
    filled = f"make_filled_simdgroup_matrix<{kind}, {shape}>({emit.lane_of(value, None)})"
    return f"{_matrix(emit, var, index)} = {filled}"


def _move(name: str) -> Rule:
    def rule(emit: MetalEmitter, op: e.Call) -> str:
        address, stride = emit.lane_of(op.args[2], None), emit.lane_of(op.args[3], None)
        transposed = "true" if isinstance(op.args[6], e.IntImm) and op.args[6].value else "false"
        return f"{name}({_matrix(emit, *op.args[:2])}, {address}, {stride}, 0, {transposed})"

    return rule


_RULES["tir.simdgroup_load"] = _move("simdgroup_load")
_RULES["tir.simdgroup_store"] = _move("simdgroup_store")


@rule_in(_RULES, "simdgroup_multiply_accumulate")
def _multiply(emit: MetalEmitter, op: e.Call) -> str:
    parts = [_matrix(emit, op.args[i], op.args[i + 1]) for i in range(0, 8, 2)]
    return f"simdgroup_multiply_accumulate({', '.join(parts)})"


class MetalEmitter(DeviceEmitter):
    """One function of Metal."""

    LANGUAGE = "Metal"
    RULES: ClassVar[Mapping[str, Rule]] = _RULES
    TYPES: ClassVar[Mapping[str, str]] = _TYPES
    LONG = "l"

    def begin(self) -> None:
        self.matrix_elements: dict[e.Var, str] = {}

    # --- functions ---

    def head(self) -> str:
        one = self.signature
        if not one.kernel:
            kind = "void" if one.result.is_void else self.type_of(one.result)
            given = [f"{self._pointer_type(p)} {self.name_param(p)}" for p in one.func.params]
            return f"{kind} {one.name}({', '.join(given)})"
        params = [self._buffer(p, n) for n, p in enumerate(
            p for p in one.func.params if p.dtype.is_handle)]  # fmt: skip
        scalars = [p for p in one.func.params if not p.dtype.is_handle]
        if scalars:
            params.append(self._scalars(scalars, len(params)))
        params += ["uint3 blockIdx [[threadgroup_position_in_grid]]",
                   "uint3 threadIdx [[thread_position_in_threadgroup]]"]  # fmt: skip
        return f"kernel void {one.name}({', '.join(params)})"

    def _pointer_type(self, param: e.Var) -> str:
        if not param.dtype.is_handle:
            return self.type_of(param.dtype)
        return self.pointer_in(param, self.pointee(param))

    def _buffer(self, param: e.Var, number: int) -> str:
        name = self.name_param(param)
        return f"device {self.pointees[param]}* {name} [[buffer({number})]]"

    def _scalars(self, params: Sequence[e.Var], number: int) -> str:
        """Numbers come together, in a structure of constant memory."""
        kind = f"{self.name}_args_t"
        fields = []
        for param in params:
            field = self.out.fresh(param.name)
            fields.append(f"  {self.memory_type(param.dtype)} {field};")
            self.values[param] = Code(f"arg.{field}")
        self.out.file.declarations.append("\n".join([f"struct {kind} {{", *fields, "};"]))
        return f"constant {kind}& arg [[buffer({number})]]"

    # --- types ---

    def has_vector(self, dtype: DataType) -> bool:
        element = dtype.element_of()
        # three lanes take the room of four
        named = str(element) in _TYPES and not (element.is_bool or element.is_handle)
        return named and not dtype.is_scalable and dtype.lanes in (2, 4)

    # --- arithmetic ---

    def smaller(self, name: str, dtype: DataType, a: str, b: str) -> str:
        kind = self.type_of(dtype)  # both of one type, which literals are not
        plain = dtype.bits == 32 or dtype.is_floating
        return f"{name}({a}, {b})" if plain else f"{name}(({kind}){a}, ({kind}){b})"

    def math(self, name: str, dtype: DataType, args: Sequence[str]) -> str:
        if dtype.is_integer and name != "fabs":
            self.refuse(f"{name} of {dtype}", "a function of floating numbers",
                        "a cast to a floating type first")  # fmt: skip
        word = "abs" if dtype.is_integer else _RENAMED.get(name, name)
        return f"{word}({', '.join(args)})"

    def popcount(self, dtype: DataType, text: str) -> str:
        return f"((int)popcount({text}))"

    def leading_zeros(self, dtype: DataType, text: str) -> str:
        return f"((int)clz({text}))"

    def same_bits(self, value: PrimExpr, target: DataType) -> str:
        kinds = self.type_of(value.dtype), self.type_of(target)
        text = self.value(value)
        return text if kinds[0] == kinds[1] else f"as_type<{kinds[1]}>({text})"

    # --- memory ---

    def pointer_to(self, buffer: Buffer, kind: str) -> str:
        return self.pointer_in(buffer.data, kind)

    def pointer_in(self, data: e.Var, kind: str) -> str:
        scope = storage_scope(data)
        if scope.startswith("shared"):
            return f"threadgroup {kind}*"
        return f"device {kind}*" if scope in ("", "global") else f"thread {kind}*"

    def declare_shared(self, one: Scratch) -> None:
        if one.size is None:
            self.refuse(f"dynamic shared memory {one.var.name}", "a size known only at launch",
                        "shared memory of constant size")  # fmt: skip
        kind, name = self.memory_type(one.dtype), self.out.fresh(one.var.name)
        volatile = "volatile " if one.var in self.volatile else ""
        self.out.line(f"alignas(16) {volatile}threadgroup {kind} {name}[{one.size}];")
        self.declare_pointer(one.var, name, kind)

    def declare_array(self, kind: str, name: str, count: int) -> None:
        self.out.line(f"alignas(16) {kind} {name}[{count}];" if count > 1 else f"{kind} {name}[1];")

    def declare_special(self, one: Scratch) -> None:
        if one.scope != "metal.simdgroup":
            super().declare_special(one)
        element, name = self.type_of(one.dtype), self.out.fresh(one.var.name)
        self.out.line(f"simdgroup_{element}8x8 {name}[{max((one.size or 64) // 64, 1)}];")
        self.matrix_elements[one.var] = element
        self.declare_pointer(one.var, name, f"simdgroup_{element}8x8")

    # --- threads ---

    def barrier(self, scope: str) -> str:
        if scope.startswith("shared"):
            return "threadgroup_barrier(mem_flags::mem_threadgroup);"
        if scope == "warp":
            return "simdgroup_barrier(mem_flags::mem_threadgroup);"
        return self.refuse(f"a barrier over {scope!r}", "threadgroups do not wait for each other",
                           "barriers of scope shared and warp")  # fmt: skip

    def atomic_add(self, pointer_expr: PrimExpr, value: PrimExpr) -> str:
        kinds = {"int32": "atomic_int", "uint32": "atomic_uint", "float32": "atomic_float"}
        kind = kinds.get(str(value.dtype))
        if kind is None:
            self.refuse(f"atomic_add of {value.dtype}", "the language has no such operation",
                        ", ".join(kinds))  # fmt: skip
        pointer, added = self.lane_of(pointer_expr, None), self.lane_of(value, None)
        space = "threadgroup" if "threadgroup" in pointer else "device"
        given = f"({space} {kind}*){pointer}, {added}, memory_order_relaxed"
        return f"atomic_fetch_add_explicit({given})"


def emit_file(mod: IRModule, target: Target) -> DeviceText:
    """The Metal file of the device functions of a module."""
    file = SourceFile(_KEYWORDS.split())
    kernels = emit_kernels(mod, target, MetalEmitter, file)
    parts = [_HEAD, *file.helpers.values(), *file.declarations, *file.functions]
    return DeviceText("\n".join(parts), kernels)


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The Metal text of lowered device functions."""
    return emit_file(mod, Target(target)).text

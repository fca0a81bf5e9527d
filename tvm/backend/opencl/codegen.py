"""Lowered kernels to OpenCL C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tvm.backend.c_family.expr import Rule
from tvm.backend.c_family.intrinsics import rule_in
from tvm.backend.device.expr import INT32
from tvm.backend.device.intrinsics import COMMON
from tvm.backend.device.kernels import DeviceEmitter, DeviceText, emit_kernels
from tvm.backend.device.stmt import Scratch, storage_scope
from tvm.backend.device.text import SourceFile
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer

_TYPES: Final[dict[str, str]] = {
    "bool": "bool",
    "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
    "float16": "half", "float32": "float", "float64": "double",
    "handle": "void*", "void": "void",
}  # fmt: skip
_EXTENSIONS: Final = {"float16": "cl_khr_fp16", "float64": "cl_khr_fp64"}
_VECTOR_LANES: Final = (2, 3, 4, 8, 16)
_RENAMED: Final = {"round": "rint", "nearbyint": "rint"}  # ties to even, as numpy
_KEYWORDS: Final = """
auto bool break case char complex const constant continue default do double else enum extern false
float for global goto half if image1d_t image2d_t image3d_t imaginary inline int kernel local long
private quad read_only read_write restrict return sampler_t short signed sizeof static struct
switch true typedef uchar uint ulong union unsigned ushort void volatile while write_only event_t
barrier min max abs clamp exp log sin cos tan sqrt pow floor ceil round trunc rint erf fma dot
select length distance cross normalize mix step sign M_PI INFINITY NAN half2 char2 char4 int2 int4
float2 float4
"""
_ATOMIC_FLOAT: Final = """\
static inline float atomic_add_float(volatile SPACE float* address, float value) {
  union { float value; uint bits; } old, sum, seen;
  seen.value = *address;
  do {
    old = seen;
    sum.value = old.value + value;
    seen.bits = atomic_cmpxchg((volatile SPACE uint*)address, old.bits, sum.bits);
  } while (seen.bits != old.bits);
  return old.value;
}"""
_RULES: Final[dict[str, Rule]] = dict(COMMON)


def _shuffle(sign: str) -> Rule:
    """A shuffle within a part of the subgroup; the thread asked for is counted in that part."""

    def rule(emit: OpenCLEmitter, op: e.Call) -> str:
        emit.extension("cl_khr_subgroup_shuffle")
        value, at = emit.lane_of(op.args[1], emit.lane), emit.lane_of(op.args[2], None)
        width = emit.lane_of(op.args[3], None)
        me = "(int)get_sub_group_local_id()"
        first = f"({me} / {width} * {width})"
        if not sign:
            return f"sub_group_shuffle({value}, (uint)({first} + {at}))"
        other = emit.temp(INT32, f"({me} {sign} {at})")
        inside = f"({other} >= {first} && {other} < ({first} + {width}))"
        return f"sub_group_shuffle({value}, (uint)({inside} ? {other} : {me}))"

    return rule


for _suffix, _sign in (("", ""), ("_up", "-"), ("_down", "+")):
    _RULES[f"tir.tvm_warp_shuffle{_suffix}"] = _shuffle(_sign)


@rule_in(_RULES, "tvm_warp_activemask")
def _activemask(emit: OpenCLEmitter, op: e.Call) -> str:
    return "0u"  # subgroups have no masks: all of one shuffle together


class OpenCLEmitter(DeviceEmitter):
    """One function of OpenCL C."""

    LANGUAGE = "OpenCL"
    RULES: ClassVar[Mapping[str, Rule]] = _RULES
    TYPES: ClassVar[Mapping[str, str]] = _TYPES
    LONG = "l"

    # --- functions ---

    def head(self) -> str:
        func, one = self.signature.func, self.signature
        alone = " restrict" if func.attrs.get("tir.noalias") and one.kernel else ""
        params = []
        for param in func.params:
            name = self.name_param(param)
            if param.dtype.is_handle:
                params.append(f"__global {self.pointees[param]}*{alone} {name}")
            else:
                params.append(f"{self._param_type(param.dtype)} {name}")
        result = one.result
        kind = "void" if result.is_void else self.type_of(result)
        head = f"{'__kernel ' if one.kernel else ''}{kind} {one.name}({', '.join(params)})"
        self.out.file.declarations.append(f"{head};")
        return head

    def _param_type(self, dtype: DataType) -> str:
        """Kernels take no bool, whose size is the device's affair."""
        return self.memory_type(dtype) if self.signature.kernel else self.type_of(dtype)

    # --- types ---

    def type_of(self, dtype: DataType) -> str:
        extension = _EXTENSIONS.get(str(dtype.element_of()))
        if extension is not None:
            self.extension(extension)
        return super().type_of(dtype)

    def extension(self, name: str) -> None:
        """Have a part of the language that not every device has."""
        self.out.file.need(name, f"#pragma OPENCL EXTENSION {name} : enable")

    def has_vector(self, dtype: DataType) -> bool:
        element = dtype.element_of()
        return (
            not dtype.is_scalable
            and dtype.lanes in _VECTOR_LANES
            and str(element) in _TYPES
            and not (element.is_bool or element.is_handle)
        )

    def lane_text(self, vector: str, dtype: DataType, lane: int) -> str:
        return f"{vector}.s{lane:x}"

    def vector_of(self, dtype: DataType, lanes: Sequence[str]) -> str:
        return f"(({self.type_of(dtype)})({', '.join(lanes)}))"

    # --- arithmetic ---

    def smaller(self, name: str, dtype: DataType, a: str, b: str) -> str:
        if dtype.is_floating:
            return f"f{name}({a}, {b})"
        kind = self.type_of(dtype)  # both of one type, which literals are not
        return f"{name}(({kind}){a}, ({kind}){b})" if dtype.bits != 32 else f"{name}({a}, {b})"

    def math(self, name: str, dtype: DataType, args: Sequence[str]) -> str:
        if dtype.is_integer:
            if name == "fabs":
                return f"(({self.type_of(dtype)})abs({args[0]}))"
            self.refuse(f"{name} of {dtype}", "a function of floating numbers",
                        "a cast to a floating type first")  # fmt: skip
        return f"{_RENAMED.get(name, name)}({', '.join(args)})"

    def popcount(self, dtype: DataType, text: str) -> str:
        return f"((int)popcount({text}))"

    def leading_zeros(self, dtype: DataType, text: str) -> str:
        return f"((int)clz({text}))"

    def same_bits(self, value: PrimExpr, target: DataType) -> str:
        kinds = self.type_of(value.dtype), self.type_of(target)
        text = self.value(value)
        return text if kinds[0] == kinds[1] else f"as_{kinds[1]}({text})"

    # --- memory ---

    def pointer_to(self, buffer: Buffer, kind: str) -> str:
        return self.pointer_in(buffer.data, kind)

    def pointer_in(self, data: e.Var, kind: str) -> str:
        return f"{self._space(data)}{kind}*"

    def _space(self, data: e.Var) -> str:
        scope = storage_scope(data)
        if scope.startswith("shared"):
            return "__local "
        return "__global " if scope in ("", "global") else "__private "

    def whole_load(self, op: e.BufferLoad) -> str:
        start = self.run_of(op.buffer, op.indices, op.dtype)
        assert start is not None, "the caller looked"
        address = self.access_pointer(op.buffer.dtype.element_of(), op.buffer.data, start)
        return f"vload{op.dtype.lanes}(0, {address[1:-1]})"

    def store_vector(self, op: s.BufferStore, start: PrimExpr, value: str) -> None:
        address = self.access_pointer(op.buffer.dtype.element_of(), op.buffer.data, start)
        self.out.line(f"vstore{op.value.dtype.lanes}({value}, 0, {address[1:-1]});")

    def is_aligned(self, base: PrimExpr, lanes: int) -> bool:
        return True  # vload and vstore ask only for whole elements

    def declare_shared(self, one: Scratch) -> None:
        if one.size is None:
            self.refuse(f"dynamic shared memory {one.var.name}", "a size known only at launch",
                        "shared memory of constant size")  # fmt: skip
        kind, name = self.memory_type(one.dtype), self.out.fresh(one.var.name)
        volatile = "volatile " if one.var in self.volatile else ""
        self.out.line(f"{volatile}__local {kind} {name}[{one.size}];")
        self.declare_pointer(one.var, name, kind)

    def unrolled(self) -> None:
        self.out.line("#pragma unroll")

    # --- threads ---

    def convert_thread(self, tag: str, dtype: DataType) -> str:
        word, axis = tag.split(".")
        call = "get_group_id" if word == "blockIdx" else "get_local_id"
        return f"(({self.type_of(dtype)}){call}({'xyz'.index(axis)}))"

    def barrier(self, scope: str) -> str:
        if scope.startswith("shared"):
            return "barrier(CLK_LOCAL_MEM_FENCE);"
        if scope == "warp":
            return "sub_group_barrier(CLK_LOCAL_MEM_FENCE);"
        return self.refuse(f"a barrier over {scope!r}", "groups of a launch do not wait for each "
                           "other", "barriers of scope shared and warp")  # fmt: skip

    def atomic_add(self, pointer_expr: PrimExpr, value: PrimExpr) -> str:
        pointer, added = self.lane_of(pointer_expr, None), self.lane_of(value, None)
        data = _memory_of(pointer_expr)
        space = self._space(data).strip() if data is not None else "__global"
        if value.dtype == "float32":
            name = f"atomic_add_float{'_local' if space == '__local' else ''}"
            text = _ATOMIC_FLOAT.replace("SPACE", space).replace("atomic_add_float", name)
            return f"{self.out.file.need(name, text)}({pointer}, {added})"
        if value.dtype.bits != 32 or not value.dtype.is_integer:
            self.refuse(f"atomic_add of {value.dtype}", "the language has no such operation",
                        "int32, uint32, float32")  # fmt: skip
        return f"atomic_add((volatile {space} {self.type_of(value.dtype)}*){pointer}, {added})"


def _memory_of(pointer_expr: PrimExpr) -> e.Var | None:
    """The variable of the memory that an address points into."""
    if not isinstance(pointer_expr, e.Call):
        return None
    for arg in pointer_expr.args:
        if isinstance(arg, e.BufferLoad):
            return arg.buffer.data
        if isinstance(arg, e.Var) and arg.dtype.is_handle:
            return arg
    return None


def emit_file(mod: IRModule, target: Target) -> DeviceText:
    """The OpenCL file of the device functions of a module."""
    file = SourceFile(_KEYWORDS.split())
    kernels = emit_kernels(mod, target, OpenCLEmitter, file)
    helpers = sorted(file.helpers.values(), key=lambda text: not text.startswith("#pragma"))
    return DeviceText("\n".join([*helpers, *file.declarations, *file.functions]), kernels)


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The OpenCL text of lowered device functions."""
    return emit_file(mod, Target(target)).text

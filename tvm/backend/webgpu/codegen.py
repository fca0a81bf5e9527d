"""Lowered kernels to WGSL (W3C, WebGPU Shading Language).

Buffers are bindings of group 0 in the order of the parameters; numbers come together in a uniform
structure, the last binding. The language has no numbers of 8 and 16 bits but half floats: they are
computed with in 32 bits, and storage holds several to a word.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Final

from tvm.backend.c_family.code import Code
from tvm.backend.c_family.expr import Rule
from tvm.backend.device.expr import FLOAT32, INT32
from tvm.backend.device.intrinsics import COMMON, args_of, written_out
from tvm.backend.device.kernels import DeviceEmitter, DeviceText, emit_kernels
from tvm.backend.device.literals import float_digits
from tvm.backend.device.stmt import Scratch, storage_scope
from tvm.backend.device.text import SourceFile
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import statements, walk

UINT32: Final = DataType("uint32")
MAX_BLOCKS: Final = 65535  # along an axis: every device has as many (WebGPU, limits)
_FOLDED: Final = "(blockIdx.x + blockIdx.z * gridDim.x)"
_TYPES: Final[dict[str, str]] = {
    "bool": "bool", "int8": "i32", "int16": "i32", "int32": "i32", "uint8": "u32", "uint16": "u32",
    "uint32": "u32", "float16": "f16", "float32": "f32",
}  # fmt: skip
_NAMES: Final = {"fabs": "abs", "rsqrt": "inverseSqrt", "nearbyint": "round"}
_KEYWORDS: Final = """
alias break case const const_assert continue continuing default diagnostic discard else enable
false fn for if let loop override requires return struct switch true var while array atomic bool
f16 f32 i32 u32 mat2x2 mat3x3 mat4x4 ptr sampler texture_2d vec2 vec3 vec4 storage uniform
workgroup private function read read_write write bitcast select min max abs exp exp2 log log2 sin
cos tan sqrt pow floor ceil round trunc fma dot length arrayLength workgroupBarrier storageBarrier
active arr bf16 class common do double enum extern export external final float fixed global goto
half highp import in inline inout input int lowp mediump module mut namespace new null out output
package precise precision public ref restrict set shared signed static std string super target
template texture this thread throw trait try type typedef union unless unsigned use using vec void
volatile where with workgroup_size blockIdx threadIdx gridDim smooth sample self sizeof
std
"""
_RULES: Final[dict[str, Rule]] = {
    **COMMON,
    **written_out("erf", "log1p", "hypot", "nextafter", "exp10", "log10"),
    # the language has these, and lets them be off by 4096 units in the last place
    **written_out("asin", "acos", "atan", "atan2"),
}
_INFINITY: Final = 0x7F800000  # the bits of float32


def _by_bits(sign: str) -> Rule:
    """A question about what a float is: drivers may take floats for numbers, but not their bits."""

    def rule(emit: DeviceEmitter, op: e.Call) -> str:
        source = op.args[0].dtype.element_of()
        if source.bits == 64:
            return COMMON[e.op_name(op)](emit, op)
        value = emit.convert(source, FLOAT32, args_of(emit, op)[0])
        return f"((bitcast<u32>({value}) & {0x7FFFFFFF}u) {sign} {_INFINITY}u)"

    return rule


def _keeping_nan(made: Rule) -> Rule:
    """What is not a number stays so where drivers compare it as one."""

    def rule(emit: DeviceEmitter, op: e.Call) -> str:
        wide = op.dtype.element_of()
        if wide.bits == 64:
            return made(emit, op)
        given = emit.temp(wide, args_of(emit, op)[0])
        held = emit.convert(wide, FLOAT32, given)
        odd = f"(bitcast<u32>({held}) & {0x7FFFFFFF}u) > {_INFINITY}u"
        return f"select({made(emit, op)}, {given}, {odd})"

    return rule


for _name in ("tir.erf", "tir.log1p", "tir.exp10", "tir.log10", "tir.asin", "tir.acos", "tir.atan"):
    _RULES[_name] = _keeping_nan(_RULES[_name])
for _name, _sign in (("isnan", ">"), ("isinf", "=="), ("isfinite", "<")):
    _RULES[f"tir.{_name}"] = _by_bits(_sign)


class WebGPUEmitter(DeviceEmitter):
    """One function of WGSL."""

    LANGUAGE = "WGSL"
    RULES: ClassVar[Mapping[str, Rule]] = _RULES
    TYPES: ClassVar[Mapping[str, str]] = _TYPES

    # --- functions ---

    def head(self) -> str:
        body = self.signature.func.body
        self._packed: dict[e.Var, DataType] = {}  # storage with several numbers to a word
        self._written = {n.buffer.data for n in statements(body, s.BufferStore)}
        self._atomics = {
            data
            for n in walk(body)
            if e.is_call_of(n, "tir.atomic_add")
            and (data := _memory_of(n.args[0])) is not None
        }  # fmt: skip
        return self._kernel_head() if self.signature.kernel else self._function_head()

    def written(self) -> Collection[e.Var]:
        return self._written | self._atomics

    def _function_head(self) -> str:
        one = self.signature
        given = []
        for param in one.func.params:
            if param.dtype.is_handle:
                self.refuse(f"parameter {param.name}", "functions take no pointers into storage",
                            "numbers")  # fmt: skip
            given.append(f"{self.name_param(param)} : {self.type_of(param.dtype)}")
        result = "" if one.result.is_void else f" -> {self.type_of(one.result)}"
        return f"fn {one.name}({', '.join(given)}){result}"

    def _kernel_head(self) -> str:
        one, file = self.signature, self.out.file
        threads = one.threads
        if threads is None:
            self.refuse("a launch", "threads of a workgroup known only at launch",
                        "threadIdx extents that are constants")  # fmt: skip
        buffers = [p for p in one.func.params if p.dtype.is_handle]
        for number, param in enumerate(buffers):
            self._binding(param, number)
        scalars = [p for p in one.func.params if not p.dtype.is_handle]
        if scalars:
            self._uniform(scalars, len(buffers))
        size = ", ".join(str(t) for t in threads)
        file.names.reserve(one.name)
        shape = "  @builtin(num_workgroups) gridDim : vec3<u32>,\n" if self._folded() else ""
        return (
            f"@compute @workgroup_size({size})\nfn {one.name}(\n"
            f"  @builtin(workgroup_id) blockIdx : vec3<u32>,\n{shape}"
            "  @builtin(local_invocation_id) threadIdx : vec3<u32>\n)"
        )

    def _folded(self) -> bool:
        """Whether blocks along x may be more than a device takes, and go along z as well."""
        extents = self.signature.extents
        along_x = extents.get("blockIdx.x")
        few = isinstance(along_x, e.IntImm) and along_x.value <= MAX_BLOCKS
        return along_x is not None and not few and "blockIdx.z" not in extents

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        """Blocks beyond the grid, which is folded, do nothing."""
        super().visit_attr_stmt_(op)
        is_x = isinstance(op.node, e.IterVar) and op.node.thread_tag == "blockIdx.x"
        if is_x and op.attr_key == "thread_extent" and self._folded():
            last = self.convert(op.value.dtype, INT32, self.lane_of(op.value, None))
            self.out.line(f"if (i32({_FOLDED}) >= {last}) {{ return; }}")

    def _binding(self, param: e.Var, number: int) -> None:
        """Storage is known to the whole file, so kernels' names differ."""
        name = self.out.file.names.fresh(self.out.fresh(param.name))
        kind, dtype = self.pointee(param), _pointed(param)
        together = param in self._atomics
        if dtype is not None and _bits(dtype) < 32 and not dtype.is_floating:
            # a word of several is changed by several threads, each of which changes its bits
            self._packed[param] = dtype
            kind, together = "u32", param in self._written
        held = f"atomic<{kind}>" if together else kind
        access = "read_write" if param in self._written | self._atomics else "read"
        self.out.file.declarations.append(
            f"@group(0) @binding({number}) var<storage, {access}> {name} : array<{held}>;"
        )
        self.declare_pointer(param, name, kind)

    def _uniform(self, params: Sequence[e.Var], number: int) -> None:
        file = self.out.file
        kind = file.names.fresh(f"{self.name}_args")
        name = file.names.fresh("podArgs")
        fields = []
        for param in params:
            field = self.out.fresh(param.name)
            kind_of = self.type_of(INT32 if param.dtype.is_bool else param.dtype)
            fields.append(f"  {field} : {kind_of},")
            text = f"{name}.{field}"
            self.values[param] = Code(f"({text} != 0)" if param.dtype.is_bool else text)
        file.declarations += [
            "\n".join([f"struct {kind} {{", *fields, "}"]),
            f"@group(0) @binding({number}) var<uniform> {name} : {kind};",
        ]

    def function_word(self) -> str:
        return "fn "

    def need_floor(self, remainder: bool, dtype: DataType) -> str:
        kind, zero = self.type_of(dtype), self.int_literal(dtype.with_bits(max(dtype.bits, 32)), 0)
        name = f"floor{'mod' if remainder else 'div'}_{kind}"
        off = f"(a % b != {zero}) && ((a % b < {zero}) != (b < {zero}))"
        one = zero.replace("0", "1", 1)
        plain, moved = ("a % b", "a % b + b") if remainder else ("a / b", f"a / b - {one}")
        body = f"select({plain}, {moved}, {off})"
        text = f"fn {name}(a : {kind}, b : {kind}) -> {kind} {{ return {body}; }}"
        return self.out.file.need(name, text)

    # --- types ---

    def type_of(self, dtype: DataType) -> str:
        if dtype.element_of() == "float16":
            self.out.file.need("f16", "enable f16;")
        return super().type_of(dtype)

    def memory_type(self, dtype: DataType) -> str:
        return self.type_of(dtype)

    def pointee(self, var: e.Var) -> str:
        kind = super().pointee(var)
        if kind == "void":
            self.refuse(f"parameter {var.name}", "a pointer to memory of no known type",
                        "pointers to 32-bit numbers and float16")  # fmt: skip
        return kind

    def has_vector(self, dtype: DataType) -> bool:
        named = dtype.element_of() in ("int32", "uint32", "float16", "float32")
        return named and not dtype.is_scalable and dtype.lanes in (2, 3, 4)

    def vector_type(self, dtype: DataType) -> str:
        return f"vec{dtype.lanes}<{self.type_of(dtype.element_of())}>"

    def run_of(
        self, buffer: Buffer, indices: Sequence[PrimExpr], dtype: DataType
    ) -> PrimExpr | None:
        return None  # an array of numbers is read and written one by one

    def int_literal(self, dtype: DataType, value: int) -> str:
        if dtype.is_bool:
            return "true" if value else "false"
        self.type_of(dtype)  # has it?
        long = "l" if dtype.bits == 64 else ""
        if dtype.is_uint:
            return f"{value}{long}u"
        if value == -(1 << (dtype.bits - 1)) and dtype.bits >= 32:
            return f"({value + 1}{long}i - 1{long}i)"
        return f"{value}{long}i" if value >= 0 else f"({value}{long}i)"

    def fit(self, dtype: DataType, value: Code) -> str:
        if dtype.is_integer and dtype.bits < 32:
            return f"extractBits({value}, 0u, {dtype.bits}u)"
        return value

    def float_literal(self, dtype: DataType, value: float) -> str:
        digits = float_digits(value, 64 if dtype.bits == 64 else 32)
        if not digits:
            return self.not_finite(dtype, value)
        self.type_of(dtype)  # has it?
        text = {16: f"f16({digits}f)", 32: f"{digits}f", 64: f"{digits}lf"}[dtype.bits]
        return f"({text})" if digits.startswith("-") else text

    def not_finite(self, dtype: DataType, value: float) -> str:
        """The language has no names for these, and takes their bits only when the kernel runs."""
        bits = "0x7fc00000u" if math.isnan(value) else (
            "0xff800000u" if value < 0 else "0x7f800000u")  # fmt: skip
        self.out.file.need(
            "bits_to_float", "fn bits_to_float(bits : u32) -> f32 { return bitcast<f32>(bits); }"
        )
        text = f"bits_to_float({bits})"
        return text if dtype.bits == 32 else f"{self.type_of(dtype)}({text})"

    # --- variables and blocks ---

    def declare(self, dtype: DataType, hint: str, value: str) -> str:
        name = self.out.fresh(hint)
        self.out.line(f"let {name} : {self.type_of(dtype)} = {value};")
        return name

    def declare_later(self, dtype: DataType, hint: str) -> str:
        name = self.out.fresh(hint)
        self.out.line(f"var {name} : {self.type_of(dtype)};")
        return name

    def declare_array(self, kind: str, name: str, count: int) -> None:
        self.out.line(f"var {name} : array<{kind}, {count}>;")

    def declare_constant(self, kind: str, name: str, words: list[str]) -> None:
        text = f"array<{kind}, {len(words)}>({', '.join(words)})"
        self.out.line(f"var {name} : array<{kind}, {len(words)}> = {text};")

    def choose(self, dtype: DataType, condition: Code, a: Code, b: Code) -> str:
        return f"select({b}, {a}, {condition})"

    def discard(self, value: PrimExpr, text: Code) -> str:
        return f"_ = {text};"

    def endless(self) -> str:
        return "loop {"

    def loop_head(self, dtype: DataType, name: str, start: str, stop: str) -> str:
        kind = self.type_of(dtype)
        step = f"{name} = {name} + {kind}(1)"
        return f"for (var {name} : {kind} = {start}; {name} < {stop}; {step}) {{"

    # --- arithmetic ---

    def math(self, name: str, dtype: DataType, args: Sequence[str]) -> str:
        if dtype.is_integer and name != "fabs":
            self.refuse(f"{name} of {dtype}", "a function of floating numbers",
                        "a cast to a floating type first")  # fmt: skip
        if name == "fmod":
            return f"({args[0]} % {args[1]})"
        if name == "copysign":
            size = f"abs({args[0]})"
            return f"select({size}, -{size}, {args[1]} < {self.float_literal(dtype, 0.0)})"
        return f"{_NAMES.get(name, name)}({', '.join(args)})"

    def shift(self, dtype: DataType, a: str, sign: str, b: str) -> str:
        return f"({a} {sign} {b if b.endswith('u') else f'u32({b})'})"

    def by_power(self, dtype: DataType, a: Code, power: int, remainder: bool) -> str:
        return super().by_power(dtype, a, power, remainder) if remainder else f"({a} >> {power}u)"

    def convert(self, source: DataType, target: DataType, text: str) -> str:
        if source is target:
            return text
        if target.is_bool:
            return f"({text} != {self.lane_of(e.make_const(0, source), None)})"
        narrower = target.is_integer and target.bits < 32 and target.bits < source.bits
        made = f"{self.type_of(target)}({text})"
        return self.fit(target, Code(made)) if narrower or source.is_floating else made

    def popcount(self, dtype: DataType, text: str) -> str:
        return f"i32(countOneBits({text}))"

    def leading_zeros(self, dtype: DataType, text: str) -> str:
        return f"i32(countLeadingZeros({text}))"

    def same_bits(self, value: PrimExpr, target: DataType) -> str:
        return f"bitcast<{self.type_of(target)}>({self.value(value)})"

    # --- memory ---

    def element(self, buffer: Buffer, index: str) -> str:
        kind = self.memory_type(buffer.dtype.element_of())
        if self.pointees.get(buffer.data) != kind:
            self.refuse(f"buffer {buffer.name} of {buffer.dtype}",
                        f"its memory holds {self.pointees.get(buffer.data)}",
                        "one type of elements for one memory")  # fmt: skip
        return f"{self.known(buffer.data)}[{index}]"

    def from_memory(self, dtype: DataType, text: str) -> str:
        return text

    def to_memory(self, dtype: DataType, text: str) -> str:
        return text

    def visit_buffer_load_(self, op: e.BufferLoad) -> Code:
        packed = self._packed.get(op.buffer.data)
        if packed is not None:
            index = self.index_of(op.buffer, op.indices, self.lane)
            word, start = self._word_of(op.buffer, packed, self.lane_of(index, None))
            if op.buffer.data in self._written:
                word = f"atomicLoad(&{word})"
            if packed.is_int and not packed.is_bool:
                word = f"bitcast<i32>({word})"
            value = f"extractBits({word}, {start}, {_bits(packed)}u)"
            return Code(f"({value} != 0u)" if packed.is_bool else value)
        text = super().visit_buffer_load_(op)
        return Code(f"atomicLoad(&{text})") if op.buffer.data in self._atomics else text

    def _word_of(self, buffer: Buffer, packed: DataType, index: str) -> tuple[str, str]:
        """The word that an element is in, and its first bit there."""
        if buffer.dtype.element_of() != packed:
            self.refuse(f"buffer {buffer.name} of {buffer.dtype}", f"its memory holds {packed}",
                        "one type of elements for one memory")  # fmt: skip
        power = {8: 2, 16: 1}[_bits(packed)]
        at = self.temp(UINT32, f"u32({index})")
        start = f"(({at} & {(1 << power) - 1}u) << {5 - power}u)"
        return f"{self.known(buffer.data)}[{at} >> {power}u]", start

    def _store(self, op: s.BufferStore, lane: int | None, value: str) -> None:
        packed = self._packed.get(op.buffer.data)
        if packed is None and op.buffer.data not in self._atomics:
            super()._store(op, lane, value)
            return
        index = self.lane_of(self.index_of(op.buffer, op.indices, lane), None)
        if packed is None:
            self.out.line(f"atomicStore(&{self.element(op.buffer, index)}, {value});")
        else:
            word, start = self._word_of(op.buffer, packed, index)
            bits = self.temp(UINT32, f"select(0u, 1u, {value})" if packed.is_bool else (
                f"u32({value}) & {(1 << _bits(packed)) - 1}u"))  # fmt: skip
            ones = f"{(1 << _bits(packed)) - 1}u"
            self.out.line(f"atomicAnd(&{word}, ~({ones} << {start}));")
            self.out.line(f"atomicOr(&{word}, {bits} << {start});")

    def address(self, load: e.BufferLoad) -> str:
        index = self.index_of(load.buffer, load.indices, None if load.dtype.is_scalar else 0)
        return f"&{self.element(load.buffer, self.lane_of(index, None))}"

    def access_pointer(self, dtype: DataType, data: PrimExpr, offset: PrimExpr) -> str:
        assert isinstance(data, e.Var), "buffers lie behind variables"
        return f"&{self.known(data)}[{self.lane_of(offset, None)}]"

    def atomic_add(self, pointer_expr: PrimExpr, value: PrimExpr) -> str:
        if value.dtype.bits != 32 or not value.dtype.is_integer:
            self.refuse(f"atomic_add of {value.dtype}", "the language has no such operation",
                        "int32, uint32")  # fmt: skip
        return f"atomicAdd({self.lane_of(pointer_expr, None)}, {self.lane_of(value, None)})"

    def declare_shared(self, one: Scratch) -> None:
        if one.size is None:
            self.refuse(f"dynamic shared memory {one.var.name}", "a size known only at launch",
                        "shared memory of constant size")  # fmt: skip
        kind = self.memory_type(one.dtype)
        held = f"atomic<{kind}>" if one.var in self._atomics else kind
        name = self.out.file.names.fresh(self.out.fresh(one.var.name))
        self.out.file.declarations.append(
            f"var<workgroup> {name} : array<{held}, {one.size}>;"
        )
        self.declare_pointer(one.var, name, kind)

    # --- threads ---

    def barrier(self, scope: str) -> str:
        if scope.startswith("shared") or scope == "warp":
            return "workgroupBarrier();"
        return self.refuse(f"a barrier over {scope!r}", "workgroups do not wait for each other",
                           "barriers of scope shared")  # fmt: skip

    def thread_number(self, tag: str, dtype: DataType) -> str:
        folded = tag == "blockIdx.x" and self._folded()
        return self.convert_thread(_FOLDED if folded else tag, dtype)

    def convert_thread(self, tag: str, dtype: DataType) -> str:
        return f"{self.type_of(dtype)}({tag})"


def _pointed(param: e.Var) -> DataType | None:
    """The type of the numbers that a pointer points to."""
    kind = param.type_annotation
    if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType):
        return kind.element_type.dtype.element_of()
    return None


def _bits(dtype: DataType) -> int:
    """Bits of an element in memory, where a bool takes a byte."""
    return 8 if dtype.is_bool else dtype.bits


def _memory_of(pointer_expr: PrimExpr) -> e.Var | None:
    """The variable of the memory that an address points into."""
    for arg in pointer_expr.args if isinstance(pointer_expr, e.Call) else ():
        if isinstance(arg, e.BufferLoad):
            return arg.buffer.data
        if isinstance(arg, e.Var) and storage_scope(arg) is not None and arg.dtype.is_handle:
            return arg
    return None


def emit_with(emitter: type[WebGPUEmitter], mod: IRModule, target: Target) -> DeviceText:
    """The WGSL file of the device functions of a module, in an emitter's words."""
    file = SourceFile(_KEYWORDS.split())
    kernels = emit_kernels(mod, target, emitter, file)
    helpers = sorted(file.helpers.values(), key=lambda text: not text.startswith("enable"))
    return DeviceText("\n".join([*helpers, *file.declarations, *file.functions]), kernels)

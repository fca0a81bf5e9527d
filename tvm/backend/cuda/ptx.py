"""Operators that are instructions of PTX, as inline assembly.

The forms are those of NVIDIA's PTX ISA 8.x: mma, ldmatrix, cp.async, mbarrier. Registers of a
fragment are 32 bits wide and hold as many elements as fit; a warp's 32 threads share a matrix.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tvm.backend.c_family.expr import Rule
from tvm.backend.c_family.intrinsics import rule_in
from tvm.ir.expr import PrimExpr
from tvm.ir.type import PointerType, PrimType
from tvm.tir import expr as e

if TYPE_CHECKING:
    from .codegen import CudaEmitter

PTX: Final[dict[str, Rule]] = {}
# Those that take a thread's elements as words of 32 bits.
BY_REGISTERS: Final = {"tir.ptx_mma", "tir.ptx_mma_sp", "tir.ptx_ldmatrix"}
_WARP: Final = 32
# A type's name in the instruction, and its bits.
_KINDS: Final[dict[str, tuple[str, int]]] = {
    "fp16": ("f16", 16), "float16": ("f16", 16), "bf16": ("bf16", 16), "bfloat16": ("bf16", 16),
    "tf32": ("tf32", 32), "fp32": ("f32", 32), "float32": ("f32", 32), "fp64": ("f64", 64),
    "float64": ("f64", 64), "int8": ("s8", 8), "uint8": ("u8", 8), "int4": ("s4", 4),
    "uint4": ("u4", 4), "int1": ("b1", 1), "uint1": ("b1", 1), "bit": ("b1", 1),
    "int32": ("s32", 32), "e4m3": ("e4m3", 8), "e5m2": ("e5m2", 8),
    "float8_e4m3fn": ("e4m3", 8), "float8_e5m2": ("e5m2", 8),
}  # fmt: skip


def _word(emit: CudaEmitter, op: e.Call, at: int) -> str:
    arg = op.args[at]
    if isinstance(arg, e.StringImm):
        return arg.value
    return emit.refuse(str(op), f"{arg} where a word stands", f"text as argument {at}")


def _operand_address(emit: CudaEmitter, pointer: PrimExpr, offset: PrimExpr) -> str:
    return f"{emit.lane_of(pointer, None)} + {emit.lane_of(offset, None)}"


def _number(emit: CudaEmitter, op: e.Call, at: int) -> int:
    arg = op.args[at]
    if isinstance(arg, e.IntImm):
        return arg.value
    return emit.refuse(str(op), f"{arg} where a constant stands", f"a number as argument {at}")


def _assembly(emit: CudaEmitter, text: list[str], outputs: list[str], inputs: list[str]) -> str:
    """An asm statement; each instruction is a line."""
    emit.out.line("__asm__ __volatile__(")
    for row in text:
        emit.out.line(f'  "{row}"')
    emit.out.line(f"  : {', '.join(outputs)}")
    emit.out.line(f"  : {', '.join(inputs)}")
    emit.out.line("  : \"memory\"" if not outputs else "  :")
    emit.out.line(");")
    return ""


class _Registers:
    """The registers of one matrix: how a kernel names them, and how the instruction counts them."""

    def __init__(self, emit: CudaEmitter, kind: str, elements: int, address: str) -> None:
        if kind not in _KINDS:
            emit.refuse(f"mma on {kind}", "no such type of matrix", ", ".join(_KINDS))
        self.word, bits = _KINDS[kind]
        width = 64 if bits == 64 else 32
        self.count = max(elements * bits // width // _WARP, 1)
        exact = {"f32": ("f", "float"), "f64": ("d", "double")}
        self.letter, cast = exact.get(self.word, ("r", "unsigned"))
        self.texts = [f"(({cast}*)({address}))[{n}]" for n in range(self.count)]

    def operands(self, mark: str = "") -> list[str]:
        """The constraints for the compiler."""
        return [f'"{mark}{self.letter}"({text})' for text in self.texts]


def _braces(start: int, count: int) -> str:
    return "{" + ", ".join(f"%{start + n}" for n in range(count)) + "}"


def _shape(emit: CudaEmitter, text: str) -> tuple[int, int, int]:
    found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", text)
    if found is None:
        emit.refuse(f"mma of shape {text!r}", "no such shape", 'shapes such as "m16n8k16"')
    m, n, k = (int(x) for x in found.groups())
    return m, n, k


@rule_in(PTX, "ptx_mma", "ptx_mma_sp")
def _mma(emit: CudaEmitter, op: e.Call) -> str:
    sparse = e.is_call_of(op, "tir.ptx_mma_sp")
    m, n, k = _shape(emit, _word(emit, op, 0))
    layouts = [_word(emit, op, at) for at in (1, 2)]
    kinds = [_word(emit, op, at) for at in (3, 4, 5)]
    sizes = (m * k // (2 if sparse else 1), n * k, m * n)
    a, b, c = (
        _Registers(emit, kind, size, _operand_address(emit, op.args[at], op.args[at + 1]))
        for kind, size, at in zip(kinds, sizes, (6, 8, 10))
    )
    saturate = ".satfinite" if _number(emit, op, 15 if sparse else 12) else ""
    bits = "" if sparse or len(op.args) < 14 else f".{_word(emit, op, 13)}.popc"
    name = ".".join(["mma.sp" if sparse else "mma", "sync.aligned", f"m{m}n{n}k{k}", *layouts])
    types = ".".join([c.word, a.word, b.word, c.word])
    starts = [0, c.count, c.count + a.count, c.count + a.count + b.count]
    rows = [
        f"{name}{saturate}.{types}{bits} ",
        f"{_braces(0, c.count)}, {_braces(starts[1], a.count)}, ",
        f"{_braces(starts[2], b.count)}, {_braces(starts[3], c.count)}",
    ]
    inputs = [*a.operands(), *b.operands(), *c.operands()]
    if sparse:
        last = starts[3] + c.count
        meta = _operand_address(emit, op.args[12], op.args[13])
        inputs.append(f'"r"(((unsigned*)({meta}))[0])')
        selector = emit.lane_of(op.args[14], None)
        rows[-1] += f", %{last}, {selector}"
    rows[-1] += ";\\n"
    return _assembly(emit, rows, c.operands("="), inputs)


@rule_in(PTX, "ptx_ldmatrix")
def _ldmatrix(emit: CudaEmitter, op: e.Call) -> str:
    trans = ".trans" if _number(emit, op, 0) else ""
    count, kind = _number(emit, op, 1), _word(emit, op, 2)
    local = _operand_address(emit, op.args[3], op.args[4])
    if trans and op.dtype.bits == 8:
        return _bytes_turned(emit, op, local)
    emit.out.open("{")
    addr = _shared_address(emit, _operand_address(emit, op.args[5], op.args[6]))
    outputs = [f'"=r"(((unsigned*)({local}))[{n}])' for n in range(count)]
    name = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared{kind}"
    row = f"{name} {_braces(0, count)}, [%{count}];\\n"
    _assembly(emit, [row], outputs, [f'"r"({addr})'])
    emit.out.close()
    return ""


def _bytes_turned(emit: CudaEmitter, op: e.Call, local: str) -> str:
    """The instruction turns pairs of bytes; the elements of a tile of bytes are read one by one."""
    i, stride = emit.out.fresh("i"), emit.lane_of(op.args[6], None)
    kind, lane = emit.type_of(op.dtype.element_of()), "((int)threadIdx.x)"
    row = f"{i} % 8 / 4 * 16 + {lane} % 4 * 4 + {i} % 4"
    source = f"(({kind}*)({emit.lane_of(op.args[5], None)}))"
    emit.out.open(f"for (int {i} = 0; {i} < {_number(emit, op, 1) * 4}; ++{i}) {{")
    emit.out.line(
        f"(({kind}*)({local}))[{i}] = {source}[({row}) * {stride} + {lane} / 4 + {i} / 8 * 8];"
    )
    emit.out.close()
    return ""


def _shared_address(emit: CudaEmitter, pointer: str) -> str:
    """A variable with the address within shared memory."""
    name = emit.out.fresh("addr")
    emit.out.line(f"unsigned {name} = (unsigned)__cvta_generic_to_shared((void*)({pointer}));")
    return name


def _element(emit: CudaEmitter, kind: str, pointer: PrimExpr, offset: PrimExpr) -> str:
    """Where an element is; offsets into memory of bytes count bytes."""
    start, steps = emit.lane_of(pointer, None), emit.lane_of(offset, None)
    held = pointer.type_annotation if isinstance(pointer, e.Var) else None
    inner = held.element_type if isinstance(held, PointerType) else None
    if isinstance(inner, PrimType) and inner.dtype.bits == 8:
        return f"({kind}*)((char*){start} + {steps})"
    return f"({kind}*){start} + {steps}"


@rule_in(PTX, "ptx_cp_async")
def _cp_async(emit: CudaEmitter, op: e.Call) -> str:
    """16 bytes at once may leave out the first cache."""
    kind = emit.memory_type(op.dtype.element_of())
    bytes_ = _number(emit, op, 4)
    source = _element(emit, kind, op.args[2], op.args[3])
    element = _element(emit, kind, op.args[0], op.args[1])
    cache = "cg" if bytes_ == 16 else "ca"
    emit.out.open("{")
    addr = _shared_address(emit, element)
    inputs = [f'"r"({addr})', f'"l"((void*)({source}))', f'"n"({bytes_})']
    row = f"cp.async.{cache}.shared.global [%0], [%1], %2"
    if len(op.args) > 5:  # bytes that are not read become zeros
        inputs.append(f'"r"({emit.lane_of(op.args[5], None)} ? {bytes_} : 0)')
        row += ", %3"
    _assembly(emit, [row + ";\\n"], [], inputs)
    emit.out.close()
    return ""


@rule_in(PTX, "ptx_cp_async_bulk")
def _cp_async_bulk(emit: CudaEmitter, op: e.Call) -> str:
    kind = emit.memory_type(op.dtype.element_of())
    source = _element(emit, kind, op.args[2], op.args[3])
    element = _element(emit, kind, op.args[0], op.args[1])
    emit.out.open("{")
    addr = _shared_address(emit, element)
    barrier = _barrier(emit, op.args[5])
    inputs = [f'"r"({addr})', f'"l"((void*)({source}))', f'"r"({emit.lane_of(op.args[4], None)})',
              f'"r"({barrier})']  # fmt: skip
    row = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
    _assembly(emit, [row + "\\n"], [], inputs)
    emit.out.close()
    return ""


@rule_in(PTX, "ptx_commit_group")
def _commit(emit: CudaEmitter, op: e.Call) -> str:
    emit.out.line('__asm__ __volatile__("cp.async.commit_group;");')
    return ""


@rule_in(PTX, "ptx_wait_group")
def _wait(emit: CudaEmitter, op: e.Call) -> str:
    emit.out.line(f'__asm__ __volatile__("cp.async.wait_group {_number(emit, op, 0)};");')
    return ""


# --- barriers in shared memory ---

_BARRIERS: Final = "barrier"


@rule_in(PTX, "create_barriers")
def _create(emit: CudaEmitter, op: e.Call) -> str:
    emit.out.line(f"__shared__ uint64_t {_BARRIERS}[{_number(emit, op, 0)}];")
    count, i = _number(emit, op, 0), emit.out.fresh("i")
    emit.out.line(f"for (int {i} = 0; {i} < {count}; ++{i}) {{ {_BARRIERS}[{i}] = 0; }}")
    return ""


def _barrier(emit: CudaEmitter, number: PrimExpr) -> str:
    return _shared_address(emit, f"&{_BARRIERS}[{emit.lane_of(number, None)}]")


def _on_barrier(instruction: str) -> Rule:
    """An instruction on a barrier, with one more operand if it has one."""

    def rule(emit: CudaEmitter, op: e.Call) -> str:
        emit.out.open("{")
        addr = _barrier(emit, op.args[0])
        inputs = [f'"r"({addr})', *[f'"r"({emit.lane_of(a, None)})' for a in op.args[1:]]]
        _assembly(emit, [instruction + "\\n"], [], inputs)
        emit.out.close()
        return ""

    return rule


PTX["tir.ptx_init_barrier_thread_count"] = _on_barrier("mbarrier.init.shared.b64 [%0], %1;")
PTX["tir.ptx_cp_async_barrier"] = _on_barrier("cp.async.mbarrier.arrive.shared.b64 [%0];")
PTX["tir.ptx_arrive_barrier"] = _on_barrier(
    "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }"
)
PTX["tir.ptx_arrive_barrier_expect_tx"] = _on_barrier(
    "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1; }"
)
PTX["tir.ptx_wait_barrier"] = _on_barrier(
    "{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], 0; "
    "@done bra.uni over; bra.uni again; over: }"
)


# --- loads and fragments ---


@rule_in(PTX, "ptx_ldg32")
def _ldg32(emit: CudaEmitter, op: e.Call) -> str:
    """Load 32 bits if a condition holds; the register keeps its value otherwise."""
    register, guard, load, index = op.args
    assert isinstance(load, e.BufferLoad), "the address is an access of a buffer"
    kind = emit.type_of(op.dtype)
    element = f"{emit.lane_of(register, None)}[{emit.lane_of(index, None)}]"
    letter = "f" if op.dtype == "float32" else "r"
    word = "f32" if letter == "f" else "b32"
    row = (
        f"{{ .reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.nc.{word} %0, [%1]; }}\\n"
    )
    given = f'"l"((void*)({emit.address(load)})), "r"((int)({emit.lane_of(guard, None)}))'
    return _assembly(emit, [row], [f'"+{letter}"((({kind}*){element.split("[")[0]})'
                                   f'[{emit.lane_of(index, None)}])'], [given])  # fmt: skip


@rule_in(PTX, "mma_fill")
def _mma_fill(emit: CudaEmitter, op: e.Call) -> str:
    count, address = emit.lane_of(op.args[0], None), _operand_address(emit, op.args[1], op.args[2])
    kind = emit.type_of(op.dtype.element_of())
    zero = emit.lane_of(e.make_const(0, op.dtype.element_of()), None)
    i = emit.out.fresh("i")
    emit.out.line(
        f"for (int {i} = 0; {i} < {count}; ++{i}) {{ (({kind}*)({address}))[{i}] = {zero}; }}"
    )
    return ""


@rule_in(PTX, "mma_store")
def _mma_store(emit: CudaEmitter, op: e.Call) -> str:
    """A 16x16 result of two m16n8 products: element i of thread t lies in row and column below."""
    m, n = _number(emit, op, 0), _number(emit, op, 1)
    if (m, n) != (16, 16):
        emit.refuse(f"mma_store of {m}x{n}", "another shape", "16x16")
    target, source = emit.lane_of(op.args[2], None), _operand_address(emit, op.args[3], op.args[4])
    stride, kind = emit.lane_of(op.args[5], None), emit.type_of(op.dtype.element_of())
    i = emit.out.fresh("i")
    emit.out.open(f"for (int {i} = 0; {i} < 8; ++{i}) {{")
    row = f"({i} / 2 % 2) * 8 + ((int)threadIdx.x) / 4"
    column = f"({i} / 4) * 8 + ((int)threadIdx.x) % 4 * 2 + {i} % 2"
    element = f"({row}) * {stride} + {column}"
    emit.out.line(f"(({kind}*){target})[{element}] = (({kind}*)({source}))[{i}];")
    emit.out.close()
    return ""



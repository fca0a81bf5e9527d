"""Dot products of the rows of a matrix by the vector instructions of RISC-V processors.

    C[i] += sum(A[k] * B[i, k] for k in range(n_elems))    for i in range(n_lanes)

How many elements a register holds only the target says, so they are registered for a target.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from typing import Final

from tvm.error import message
from tvm.support.dtype import DataType
from tvm.target.codegen import target_has_features
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.script import language as T

from .dots import dot_meaning

# The vector, the matrix, the sums; and the extension with which the instructions come.
KERNELS: Final = (
    ("uint8", "int8", "int32", "v"),
    ("int8", "int8", "int32", "v"),
    ("float16", "float16", "float16", "zvfh"),
    ("float32", "float32", "float32", "v"),
)
MAX_REGISTERS: Final = 8  # one instruction works on a group of up to eight
MIN_ELEMENTS: Final = 4
BLOCK: Final = 64  # bits of a scalable vector type per vscale, in LLVM's counting
DYNAMIC_ROUNDING: Final = 7  # the rounding mode that the processor is set to


def get_max_elems(vlen: int, lmul: int, sew: int) -> int:
    """How many elements of `sew` bits a group of `lmul` registers of `vlen` bits holds."""
    return vlen // sew * lmul


def rvv_vec_dot_product_kernels(
    n_elems: int, n_lanes: int, data_dtype: str, weight_dtype: str, out_dtype: str, lmul: int
) -> tuple[PrimFunc, PrimFunc]:
    """What `n_lanes` dot products mean, and the vector instructions that compute them.

    (n_elems,) of `data_dtype`, (n_lanes, n_elems) of `weight_dtype` -> (n_lanes,) of `out_dtype`,
    which the products are added to. A row fills at most `lmul` registers. Bytes are multiplied to
    16 bits and summed in 32; floating-point numbers are summed in any order.
    Raises ValueError for types that have no such instructions.
    """
    if (data_dtype, weight_dtype, out_dtype) not in [kernel[:3] for kernel in KERNELS]:
        raise ValueError(
            message(
                "RISC-V vector dot product",
                found=f"{data_dtype} times {weight_dtype} to {out_dtype}",
                legal="; ".join([f"{a} times {b} to {c}" for a, b, c, _ in KERNELS]),
            )
        )

    floating = DataType(out_dtype).is_float
    element = DataType(data_dtype).bits
    lanes = BLOCK // element * lmul
    data = _scalable(data_dtype, lanes)
    weight = _scalable(weight_dtype, lanes)
    product = data if floating else _scalable("int16", lanes)
    total = _scalable(out_dtype, BLOCK // DataType(out_dtype).bits)
    d, p, t = _mangled(data), _mangled(product), _mangled(total)
    load = f"llvm.riscv.vle.{d}.p0.i64"
    if floating:
        multiply, add = f"llvm.riscv.vfmul.{p}.{d}.i64", f"llvm.riscv.vfredusum.{t}.{p}.i64"
        first = f"llvm.riscv.vfmv.f.s.{t}"
    else:
        # the one that multiplies signed by unsigned has the signed operand first
        mixed = "su" if data_dtype == "uint8" else ""
        multiply = f"llvm.riscv.vwmul{mixed}.{p}.{d}.{d}.i64"
        add, first = f"llvm.riscv.vwredsum.{t}.{p}.i64", f"llvm.riscv.vmv.x.s.{t}"
    rounding = (T.int64(DYNAMIC_ROUNDING),) if floating else ()
    count = T.int64(n_elems)

    def zeros(dtype: str):
        of, _, number = dtype.partition("xvscalex")
        return T.Broadcast(_zero(of), T.vscale() * int(number))

    def row_sum(a, b):
        """The sum of the products of the rows at two addresses."""
        x = T.call_llvm_intrin(data, load, zeros(data), a, count)
        y = T.call_llvm_intrin(weight, load, zeros(weight), b, count)
        xy = T.call_llvm_intrin(product, multiply, zeros(product), y, x, *rounding, count)
        sums = T.call_llvm_intrin(total, add, zeros(total), xy, zeros(total), *rounding, count)
        return T.call_llvm_intrin(out_dtype, first, sums)

    @T.prim_func
    def rvv_vec_dot_prod_impl(
        A: T.Buffer((n_elems,), data_dtype, offset_factor=1),
        B: T.Buffer((n_lanes, n_elems), weight_dtype, offset_factor=1),
        C: T.Buffer((n_lanes,), out_dtype, offset_factor=1),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:n_lanes], A[0:n_elems], B[0:n_lanes, 0:n_elems])
            T.writes(C[0:n_lanes])
            for i in T.serial(0, n_lanes):
                with T.block("update"):
                    vi = T.axis.spatial(n_lanes, i)
                    T.reads(C[vi], A[0:n_elems], B[vi, 0:n_elems])
                    T.writes(C[vi])
                    C[vi] = C[vi] + row_sum(T.address_of(A[0]), T.address_of(B[vi, 0]))

    desc = dot_meaning(data_dtype, weight_dtype, out_dtype, n_lanes, n_elems)
    return desc, rvv_vec_dot_prod_impl


def _scalable(dtype: str, lanes: int) -> str:
    return f"{dtype}xvscalex{lanes}"


def _mangled(dtype: str) -> str:
    """The type as the names of LLVM's intrinsics have it: nxv16i8."""
    of, _, lanes = dtype.partition("xvscalex")
    element = DataType(of)
    return f"nxv{lanes}{'f' if element.is_float else 'i'}{element.bits}"


def _zero(dtype: str):
    return T.FloatImm(dtype, 0.0) if DataType(dtype).is_float else T.IntImm(dtype, 0)


def _register_bits(target: Target) -> int:
    """The least number of bits of a vector register: V asks for 128, `+zvl256b` for 256."""
    bits = 65536
    while bits > 128 and not target_has_features(f"zvl{bits}b", target):
        bits //= 2
    return bits


def register_rvv_isa_intrinsics(target: Target, inventory_only: bool = False) -> dict[str, int]:
    """Make the dot products that fit the target's registers known; give names and lengths.

    `rvv_dot_{n}u8_{m}x{n}i8_{m}i32` has rows of n elements and m of them. With `inventory_only`
    none is registered. Those of float16 are there if the target has Zvfh.
    Raises RuntimeError for a target without vector instructions.
    """
    if not target_has_features("v", target):
        raise RuntimeError(
            message(
                "RISC-V vector intrinsics",
                found=f"a target without the vector extension: {target}",
                legal='one with it, as "-mattr=+v"',
            )
        )
    vlen = _register_bits(target)
    inventory: dict[str, int] = {}
    for data_dtype, weight_dtype, out_dtype, extension in KERNELS:
        if not target_has_features(extension, target):
            continue
        data, weight, out = DataType(data_dtype), DataType(weight_dtype), DataType(out_dtype)
        # products of twice the width take twice the registers
        lmul = MAX_REGISTERS // 2 if out.bits > data.bits else MAX_REGISTERS
        n_elems = get_max_elems(vlen, lmul, data.bits)
        n_lanes = get_max_elems(vlen, lmul, out.bits)
        while n_elems >= MIN_ELEMENTS:
            kernel_name = (
                f"rvv_dot_{n_elems}{data_dtype[0]}{data.bits}"
                f"_{n_lanes}x{n_elems}{weight_dtype[0]}{weight.bits}"
                f"_{n_lanes}{out_dtype[0]}{out.bits}"
            )
            inventory[kernel_name] = n_elems
            if not inventory_only:
                register_own(
                    kernel_name, rvv_vec_dot_product_kernels,
                    n_elems, n_lanes, data_dtype, weight_dtype, out_dtype, lmul, override=True,
                )  # fmt: skip
            n_elems //= 2
    return inventory


def register_riscv_intrinsics(target: Target) -> None:
    """Make the intrinsics of the extensions that the target has known."""
    if target_has_features("v", target):
        register_rvv_isa_intrinsics(target)

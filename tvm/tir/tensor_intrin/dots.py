"""The programs of the instructions that sum products of small numbers (`dot_kinds`)."""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Callable

from tvm.tir.buffer import Buffer
from tvm.tir.expr import PrimExpr, Var
from tvm.tir.function import PrimFunc
from tvm.tir.script import language as T

from .dot_kinds import DOTS


def named(name: str, value: PrimExpr) -> PrimExpr:
    """The value under a name that holds to the end of the block: a step of an intrinsic."""
    var = Var(name, value.dtype)
    T.LetStmt(value, var=var).open_to_end()
    return var


def dot_intrin(form: str, one: str, many: str, swapped: bool) -> tuple[PrimFunc, PrimFunc]:
    """What the intrinsic computes, and the instruction that does."""
    dot = DOTS[form]
    lanes, group = dot.lanes, dot.group
    total = lanes * group
    floats = dot.sums == "float32"
    integers, sums_kind = f"int32x{lanes}", f"{dot.sums}x{lanes}"
    wide = f"int{32 // group}"  # of a number within the instruction
    takes_numbers = not dot.name.startswith("llvm.x86") or "pmadd" in dot.name
    flipped = one != dot.multiplies[0] and group == 4  # the many are the unsigned ones

    def of_instruction(vector):
        return T.reinterpret(f"{wide}x{total}", vector) if takes_numbers else vector

    def product(sums, left, right):
        left, right = (right, left) if flipped else (left, right)
        left, right = of_instruction(left), of_instruction(right)
        if dot.accumulates:
            return T.call_llvm_pure_intrin(sums_kind, dot.name, sums, left, right)
        return sums + T.call_llvm_pure_intrin(integers, dot.name, left, right)

    def widened(vector, count):
        return T.cast(vector, f"{wide}x{count}") if group == 2 and not floats else vector

    desc = dot_meaning(one, many, dot.sums, lanes, group, "global", "local", swapped)

    def compute(A: Buffer, B: Buffer, C: Buffer) -> PrimExpr:
        few = T.reinterpret("int32", widened(A.vload([0], f"{one}x{group}"), group))
        rows = widened(B.vload([0, 0], dtype=f"{many}x{total}"), total)
        rows = T.reinterpret(integers, rows)
        return product(C.vload([0], sums_kind), T.Broadcast(few, lanes), rows)

    return desc, dot_code(desc, compute)


def dot_meaning(
    one: str, many: str, sums: str, lanes: int, group: int, scope: str = "global",
    sums_scope: str | None = None, swapped: bool = False,
) -> PrimFunc:  # fmt: skip
    """The sums of products, added to C. With `swapped`, the numbers of B are the first factors."""

    def in_order(a, b):
        return (b, a) if swapped else (a, b)

    def multiplied(a, b):
        left, right = in_order(T.cast(a, sums), T.cast(b, sums))
        return left * right

    @T.prim_func(private=True)
    def desc(
        A: T.Buffer((group,), one, offset_factor=1, scope=scope),
        B: T.Buffer((lanes, group), many, offset_factor=1, scope=scope),
        C: T.Buffer((lanes,), sums, offset_factor=1, scope=sums_scope or scope),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:lanes], *in_order(A[0:group], B[0:lanes, 0:group]))
            T.writes(C[0:lanes])
            for i in T.serial(0, lanes):
                for k in T.serial(0, group):
                    with T.block("update"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        C[vi] = C[vi] + multiplied(A[vk], B[vi, vk])

    return desc


def dot_code(
    desc: PrimFunc, compute: Callable[[Buffer, Buffer, Buffer], PrimExpr]
) -> PrimFunc:
    """The program that sets all lanes of C to one value computed of A, B and C."""
    a, b, c = (desc.buffer_map[param] for param in desc.params)
    (group,), (lanes, _) = a.shape, b.shape

    @T.prim_func(private=True)
    def impl(
        A: T.Buffer(a.shape, a.dtype, offset_factor=1, scope=a.scope()),
        B: T.Buffer(b.shape, b.dtype, offset_factor=1, scope=b.scope()),
        C: T.Buffer(c.shape, c.dtype, offset_factor=1, scope=c.scope()),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:lanes], A[0:group], B[0:lanes, 0:group])
            T.writes(C[0:lanes])
            C[T.Ramp(T.int32(0), 1, lanes)] = compute(A, B, C)

    return impl

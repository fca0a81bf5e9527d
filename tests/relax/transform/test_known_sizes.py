"""What a function decides as it runs is decided where its sizes are known."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.transform.specialize import bind_shapes, with_variants
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Sums:
    """`x + y` where each row number may be 1, as importing writes it."""

    @T.prim_func(private=True)
    def repeat(a: T.handle, b: T.handle):
        n = T.int64()
        k = T.int64()
        A = T.match_buffer(a, (n, T.int64(3)))
        B = T.match_buffer(b, (k, T.int64(3)))
        for i, j in T.grid(k, T.int64(3)):
            with T.block("repeat"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.if_then_else(n == k, A[vi, vj], A[T.int64(0), vj])

    @T.prim_func(private=True)
    def reverse(a: T.handle, b: T.handle, k: T.int64):
        A = T.match_buffer(a, (k, T.int64(3)))
        B = T.match_buffer(b, (k, T.int64(3)))
        for i, j in T.grid(k, T.int64(3)):
            with T.block("reverse"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[k - T.int64(1) - vi, vj]

    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("m", 3), "float32")
    ) -> R.Tensor(ndim=2, dtype="float32"):
        n = T.int64()
        m = T.int64()
        k = T.int64()
        cls = Sums
        with R.dataflow():
            _ = R.match_cast(R.shape([T.if_then_else(n == 1, m, n)]), R.Shape([k]))
            a = R.call_tir(cls.repeat, (x,), out_sinfo=R.Tensor((k, 3), dtype="float32"))
            b = R.call_tir(cls.repeat, (y,), out_sinfo=R.Tensor((k, 3), dtype="float32"))
            c: R.Tensor((k, 3), "float32") = R.add(a, b)
            gv = R.call_tir(
                cls.reverse, (c,), out_sinfo=R.Tensor((k, 3), dtype="float32"),
                tir_vars=R.shape([k]),
            )
            R.output(gv)
        return gv


def operators(n: int, m: int) -> list[str]:
    """What is called for these numbers of rows, with the shapes of the results."""
    func = bind_shapes(Sums, "main", {"x": (n, 3), "y": (m, 3)})
    return [
        f"{binding.value.op.name.removeprefix('relax.')} {binding.var.struct_info.shape}"
        for block in func.body.blocks for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    ]  # fmt: skip


def test_symbols_of_casts_are_numbers_and_copies_disappear() -> None:
    assert operators(4, 4) == ["add R.shape([4, 3])", "call_tir R.shape([4, 3])"]


@pytest.mark.parametrize("sizes", [(1, 4), (4, 1)])
def test_what_repeats_a_row_is_a_broadcast(sizes: tuple[int, int]) -> None:
    made = ["broadcast_to R.shape([4, 3])", "add R.shape([4, 3])", "call_tir R.shape([4, 3])"]
    assert operators(*sizes) == made


def test_what_takes_row_zero_of_several_is_no_copy() -> None:
    assert operators(4, 2)[0] == "call_tir R.shape([4, 3])"  # of y, as the general form has it


@pytest.mark.parametrize("sizes", [(4, 4), (1, 4), (4, 1), (1, 1)])
def test_results_are_those_for_all_sizes(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.random((rows, 3), "float32") for rows in sizes)
    mod = with_variants(Sums, [{"x": x.shape, "y": y.shape}])
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm -mcpu=haswell"), tvm.cpu())
    np.testing.assert_array_equal(machine["main"](x, y).numpy(), (x + y)[::-1])
    assert machine.report().variants[0].after.calls == 1

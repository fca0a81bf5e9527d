from __future__ import annotations

import pytest

import tvm
from tests.dlight.programs import SPR, scheduled, softmax
from tvm import te, tir
from tvm.dlight.cpu import Fallback
from tvm.tir.functor import walk


@pytest.mark.parametrize(("n", "c"), [(1, 10), (5, 64), (3, 100), (4, 37)])
def test_softmax(n: int, c: int) -> None:
    after = scheduled(Fallback(), softmax(n, c))
    assert "passes over each row in one loop" in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize("c", [512, tir.SizeVar("c", "int64")])
def test_a_pass_is_summed_while_it_is_made(c: int | tir.PrimExpr) -> None:
    """Of rows of whole vectors, or of any length: one loop takes the exponentials and adds."""
    text = scheduled(Fallback(), softmax(3, c), SPR, sizes={"c": 37}).script()
    start = text.index('with T.block("E")')
    assert "for " not in text[start : text.index('with T.block("S_rf_update")')].replace(
        "for ax0 in T.vectorized", ""
    )


def test_layer_norm() -> None:
    n, c = 4, 32
    a = te.placeholder((n, c), name="A")
    k, r = te.reduce_axis((0, c), name="k"), te.reduce_axis((0, c), name="r")
    total = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="S")
    square = te.compute((n,), lambda i: te.sum(a[i, r] * a[i, r], axis=r), name="Q")

    def norm(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        mean = total[i] / 32.0
        return (a[i, j] - mean) * tir.rsqrt(square[i] / 32.0 - mean * mean + 1e-5)

    func = te.create_prim_func([a, te.compute((n, c), norm, name="B")])
    after = scheduled(Fallback(), func)
    assert "passes over each row in one loop" in str(after.attrs["schedule_reason"])


B, N = tir.SizeVar("b", "int64"), tir.SizeVar("n", "int64")


@pytest.mark.parametrize(
    "shape", [(B, N, 128), (B, 3, N, 128), (5, N), (B, 3, N, N), (B, 2, 3, N)]
)
def test_symbolic_sizes(shape: tuple[int | tir.PrimExpr, ...]) -> None:
    """Vectors along the row, rows in no more memory than one, whatever the sizes are called."""
    after = scheduled(Fallback(), softmax(*shape), sizes={"b": 2, "n": 19})
    text = after.script()
    passes = str(after.attrs["schedule_reason"]).partition(" passes over each row in one loop")[0]
    assert passes in ("8", "9", "10")
    assert "T.where(T.int64(0) <=" not in text  # rows of the fused loop lie in their domains
    assert "T.vectorized" in text
    lowering = [
        tir.transform.PlanAndUpdateBufferAllocationLocation(),
        tir.transform.ConvertBlocksToOpaque(),
        tir.transform.CompactBufferAllocation(),
    ]
    lowered = tvm.transform.Sequential(lowering)(tvm.IRModule({"main": after}))["main"]
    blocks = [node for node in walk(lowered.body) if isinstance(node, tir.Block)]
    sizes = [d for block in blocks for buffer in block.alloc_buffers for d in buffer.shape]
    kept = [int(d) if isinstance(d, tir.IntImm) else d for d in sizes]
    assert max([d for d in kept if isinstance(d, int)]) <= 128
    assert sum(d is N for d in kept) <= 1  # of what depends on sizes there is one row at most
    assert all(isinstance(d, int) or d is N for d in kept)


def test_a_reshape_at_the_end_is_stored_to_directly() -> None:
    """As group normalisation ends: the passes are over rows of groups, the result is flat."""
    a = te.placeholder((3, 8, 16), name="A")
    k, r = te.reduce_axis((0, 8), name="k"), te.reduce_axis((0, 16), name="r")
    total = te.compute((3,), lambda i: te.sum(a[i, k, r], axis=[k, r]), name="S")
    norm = te.compute(a.shape, lambda i, j, l: a[i, j, l] - total[i] / 128.0, name="N")
    flat = te.compute((24, 16), lambda i, j: norm[i // 8, i % 8, j], name="B")
    after = scheduled(Fallback(), te.create_prim_func([a, flat]))
    assert "passes over each row in one loop" in str(after.attrs["schedule_reason"])
    assert "N = T.alloc_buffer" not in after.script()

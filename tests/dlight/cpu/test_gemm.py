from __future__ import annotations

import pytest

import tvm
from tests.dlight.programs import HASWELL, NEON, SPR, conv, matmul, reduction, scheduled
from tvm import te
from tvm.dlight.cpu import GEMM
from tvm.target import Target


def test_form_of_the_schedule() -> None:
    text = scheduled(GEMM(), matmul(16, 128, 8)).script()
    assert 'C_local = T.alloc_buffer((16, 128), scope="local")' in text
    assert "for i0_1 in T.unroll(4):" in text
    assert "T.vectorized(16)" in text
    assert "C_init" in text


@pytest.mark.parametrize("target", [SPR, HASWELL, NEON], ids=str)
@pytest.mark.parametrize(
    ("m", "n", "k"), [(8, 64, 12), (7, 33, 5), (13, 130, 9), (3, 10, 1), (33, 16, 4)]
)
def test_any_extents(m: int, n: int, k: int, target: Target) -> None:
    scheduled(GEMM(), matmul(m, n, k), target)


def test_transposed_batched_with_epilogue() -> None:
    text = scheduled(GEMM(), matmul(10, 70, 6, transposed=True, batch=(3,), epilogue=True)).script()
    assert text.count('scope="local"') == 1
    assert "E[" in text
    assert "D[" not in text


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_other_types(dtype: str) -> None:
    scheduled(GEMM(), matmul(6, 40, 8, dtype=dtype))


@pytest.mark.parametrize(("m", "n"), [(16, 64), (7, 33)])
def test_a_batch_of_one(m: int, n: int) -> None:
    """Whose place in the operand is written as 0, as broadcasting writes it."""
    a, b = te.placeholder((1, m, 8), name="A"), te.placeholder((8, n), name="B")
    r = te.reduce_axis((0, 8), name="r")
    c = te.compute((1, m, n), lambda _, i, j: te.sum(a[0, i, r] * b[r, j], axis=r), name="C")
    func = te.create_prim_func([a, b, c])
    assert "tile" in str(scheduled(GEMM(), func).attrs["schedule_reason"])
    bare = tvm.tir.transform.Simplify()(tvm.IRModule({"main": func}))["main"]
    assert GEMM().apply(bare, SPR, False) is None  # the batch is bound to no loop


def test_symbolic_rows() -> None:
    m = te.size_var("m")
    a = te.placeholder((m, 8), name="A")
    b = te.placeholder((8, 64), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((m, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    scheduled(GEMM(), te.create_prim_func([a, b, c]), sizes={"m": 11})


def test_reason() -> None:
    after = scheduled(GEMM(), matmul(16, 128, 8))
    reason = str(after.attrs["schedule_reason"])
    assert reason.startswith("4x64 tile: 16 of 32 vector registers hold sums")
    assert reason.endswith("serial, too little work for threads")


def test_large_products_use_threads() -> None:
    target = Target("llvm -mcpu=sapphirerapids -num-cores=4")
    sch = GEMM().apply(matmul(256, 256, 256), target, False)
    assert "T.parallel" in sch.mod.script()


def test_other_functions_are_left_to_other_rules() -> None:
    assert GEMM().apply(reduction((8, 8), (1,)), SPR, False) is None
    assert GEMM().apply(matmul(1, 64, 64), SPR, False) is None
    assert GEMM().apply(conv(1, 4, 8, 8), SPR, False) is None


@pytest.mark.parametrize("order", ["brhd", "bhrd", "rbhd", "hrbd"])
@pytest.mark.parametrize("length", [7, "n"])
def test_results_in_any_order(order: str, length: int | str) -> None:
    """Heads may stand behind rows, as in the result of an attention."""
    rows = te.size_var("n", "int64") if isinstance(length, str) else length
    sizes = {"b": 2, "r": rows, "h": 3, "d": 20}
    p = te.placeholder((2, 3, rows, 5), name="P")
    v = te.placeholder((2, 5, 3, 20), name="V")
    k = te.reduce_axis((0, 5), name="k")

    def mixed(*at: tvm.tir.Var) -> tvm.tir.PrimExpr:
        i = dict(zip(order, at))
        return te.sum(p[i["b"], i["h"], i["r"], k] * v[i["b"], k, i["h"], i["d"]], axis=k)

    out = te.compute([sizes[c] for c in order], mixed, name="O", varargs_names=list(order))
    func = te.create_prim_func([p, v, out])
    for n in (1, 7, 64) if isinstance(length, str) else (length,):
        after = scheduled(GEMM(), func, sizes={"n": n})
    texts = [line.strip() for line in after.script().splitlines()]
    unrolled = [line for line in texts if line.startswith("for r_1")]
    assert unrolled, "the rows of a tile are those of the result"
    assert not any(line.startswith("for h_1") for line in texts)


@pytest.mark.parametrize("batch", [4, "n"])
def test_a_row_that_is_repeated(batch: int | str) -> None:
    """One row each, added to five: the loops of the sum are those of the product."""
    size = te.size_var("n", "int64") if isinstance(batch, str) else tvm.tir.const(batch, "int64")
    zero, one, many, columns, depth = (tvm.tir.const(k, "int64") for k in (0, 1, 5, 24, 20))
    a = te.placeholder((size, one, depth), name="A")
    b = te.placeholder((depth, columns), name="B")
    rest = te.placeholder((size, many, columns), name="R")
    k = te.reduce_axis((zero, depth), name="k")
    shape = (size, one, columns)
    c = te.compute(shape, lambda i, j, x: te.sum(a[i, j, k] * b[k, x], axis=k), name="C")
    d = te.compute(rest.shape, lambda i, j, x: c[i, zero, x] + rest[i, j, x], name="D")
    scheduled(GEMM(), te.create_prim_func([a, b, rest, d]), HASWELL, sizes={"n": 4})

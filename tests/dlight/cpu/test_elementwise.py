from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.programs import NEON, SPR, scheduled
from tvm import dlight, te, tir
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.elementwise import vector_width
from tvm.target import Target
from tvm.tir.functor import walk


def relu(*shape: object) -> tir.PrimFunc:
    a = te.placeholder(shape, name="A")
    zero = tir.const(0.0, "float32")
    return te.create_prim_func([a, te.compute(shape, lambda *i: tir.max(a[i], zero), name="B")])


@pytest.mark.parametrize("shape", [(4, 8, 16), (3, 5), (1,), (7, 11, 13), (100,)])
def test_shapes(shape: tuple[int, ...]) -> None:
    text = scheduled(Fallback(), relu(*shape)).script()
    assert "T.vectorized" in text


def test_broadcast_keeps_whole_rows_together() -> None:
    a = te.placeholder((2, 3, 4, 4), name="A")
    b = te.placeholder((3,), name="b")
    func = te.create_prim_func(
        [a, b, te.compute(a.shape, lambda n, c, y, x: a[n, c, y, x] + b[c], name="C")]
    )
    text = scheduled(Fallback(), func).script()
    assert "fused in T.vectorized(16)" in text


def test_transpose() -> None:
    a = te.placeholder((6, 20), name="A")
    func = te.create_prim_func([a, te.compute((20, 6), lambda i, j: a[j, i], name="B")])
    scheduled(Fallback(), func)


def test_threads_only_for_much_work() -> None:
    target = Target("llvm -mcpu=sapphirerapids -num-cores=4")
    assert "T.parallel" not in Fallback().apply(relu(64, 64), target, False).mod.script()
    assert "T.parallel" in Fallback().apply(relu(4096, 1024), target, False).mod.script()


def test_symbolic_extents() -> None:
    n = te.size_var("n")
    a = te.placeholder((n, 4), name="A")
    func = te.create_prim_func([a, te.compute((n, 4), lambda i, j: a[i, j] * 2.0, name="B")])
    scheduled(Fallback(), func, SPR, sizes={"n": 5})


def test_dimensions_of_any_size_are_one_run() -> None:
    n, m = te.size_var("n"), te.size_var("m")
    after = scheduled(Fallback(), relu(n, 3, m), sizes={"n": 2, "m": 7})
    loops = [node for node in walk(after.body) if isinstance(node, tir.For)]
    assert len(loops) == 2, "vectors, and lanes of each"


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "int32", "bool"])
def test_machine_code_of_any_size(dtype: str) -> None:
    """Whole vectors but for the last, which is masked or scalar: nothing behind it is touched."""
    n, m = te.size_var("n"), te.size_var("m")
    a, b = te.placeholder((n, m), dtype, name="A"), te.placeholder((m,), dtype, name="b")
    c = te.compute((n, m), lambda i, j: tir.if_then_else(a[i, j] != b[j], a[i, j], b[0]), name="C")
    funcs = {"one": te.create_prim_func([a, te.compute((n, m), lambda i, j: a[i, j], name="B")]),
             "rows": te.create_prim_func([a, b, c])}  # fmt: skip
    mod = tvm.IRModule({k: f.with_attr("global_symbol", k) for k, f in funcs.items()})
    with Target("llvm"):
        built = tvm.compile(dlight.ApplyDefaultSchedule(Fallback())(mod), target="llvm")
    rng = np.random.default_rng(0)
    for rows, columns in [(1, 1), (3, 5), (2, 16), (5, 67), (0, 4)]:
        x, y = (rng.integers(0, 2, s).astype(dtype) for s in ((rows, columns), (columns,)))
        held = np.full(rows * columns + 1, 1, dtype)  # one more behind the end
        view = tvm.runtime.from_dlpack(held[:-1].reshape(rows, columns))
        built["one"](tvm.runtime.tensor(x), view)
        np.testing.assert_array_equal(held[:-1].reshape(x.shape), x)
        built["rows"](tvm.runtime.tensor(x), tvm.runtime.tensor(y), view)
        np.testing.assert_array_equal(held[:-1].reshape(x.shape), np.where(x != y, x, y[0]))
        assert held[-1] == 1


def test_widths() -> None:
    assert vector_width(None, 16) == 16
    assert vector_width(10, 16) == 10
    assert vector_width(4096, 16) == 64
    assert vector_width(98, 16) == 14
    assert vector_width(1021, 16) == 16


def _taken(rows: object, columns: object, places: object) -> tir.PrimFunc:
    """Elements of each row at places that a table tells, those out of range zero."""
    a = te.placeholder((rows, columns), name="A")
    where = te.placeholder((places,), "int32", name="I")

    def element(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        at = where[j] % 8
        return tir.if_then_else(where[j] > 0, a[i, at], tir.const(0.0)) * 2.0

    return te.create_prim_func([a, where, te.compute((rows, places), element, name="B")])


@pytest.mark.parametrize("places", [16, 20, 33])
def test_lanes_with_places_of_their_own(places: int) -> None:
    after = scheduled(Fallback(), _taken(3, 9, places))
    assert "lanes gathered" in str(after.attrs["schedule_reason"])


def test_lanes_with_places_of_their_own_of_symbolic_sizes() -> None:
    n, m = tir.SizeVar("n", "int64"), tir.SizeVar("m", "int64")
    after = scheduled(Fallback(), _taken(n, 9, m), sizes={"n": 2, "m": 21})
    assert "lanes gathered" in str(after.attrs["schedule_reason"])


def test_few_lanes_are_not_gathered() -> None:
    for func, target in ((_taken(3, 9, 5), SPR), (_taken(3, 9, 16), NEON)):
        after = scheduled(Fallback(), func, target)
        assert "lane by lane" in str(after.attrs["schedule_reason"])


@pytest.mark.cpu
@pytest.mark.parametrize(("size", "stride"), [(40, 2), (37, 3), (17, 7)])
def test_machine_code_of_gathered_lanes(size: int, stride: int) -> None:
    """Steps, repeats and reversals, each with whole vectors and a rest."""
    a = te.placeholder((3, size * stride), name="A")

    def element(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        return a[i, j * stride] + a[i, j // stride] - a[i, size - 1 - j] * a[i, j % stride]

    func = te.create_prim_func([a, te.compute((3, size), element, name="B")])
    with Target("llvm"):
        mod = dlight.ApplyDefaultSchedule(Fallback())(tvm.IRModule({"main": func}))
    x = np.random.default_rng(1).standard_normal((3, size * stride)).astype("float32")
    out = tvm.runtime.empty((3, size))
    tvm.compile(mod, target="llvm")["main"](tvm.runtime.tensor(x), out)
    j = np.arange(size)
    expected = x[:, j * stride] + x[:, j // stride] - x[:, size - 1 - j] * x[:, j % stride]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6, atol=1e-6)

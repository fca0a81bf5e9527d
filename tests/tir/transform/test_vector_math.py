import numpy as np
import pytest

import tvm
from tvm.script import tir as T
from tvm.tir.functor import walk
from tvm.tir.transform import VectorMath


def calls(mod):
    body = mod[mod.get_global_vars()[0]].body
    return {n.op.name for n in walk(body) if type(n).__name__ == "Call"}


@T.prim_func
def mixed(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float16"), C: T.Buffer((8,), "float64")):
    for i in range(8):
        A[i] = T.exp(A[i])
        B[i] = T.tanh(B[i])
        C[i] = T.log(C[i])


@pytest.mark.pure
def test_all_widths_are_written_out():
    found = calls(VectorMath()(tvm.IRModule.from_expr(mixed)))
    assert not found & {"tir.exp", "tir.tanh", "tir.log", "tir.ldexp"}


@pytest.mark.pure
def test_an_instruction_that_scales_is_used_where_the_cpu_has_it():
    for cpu, has in (("skylake-avx512", True), ("haswell", False)):
        target = tvm.target.Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
        mod = tvm.IRModule.from_expr(mixed.with_attr("target", target))
        assert ("tir.ldexp" in calls(VectorMath()(mod))) == has


@pytest.mark.pure
def test_keeps_other_functions():
    @T.prim_func
    def plain(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.sqrt(A[i])

    mod = tvm.IRModule.from_expr(plain)
    assert VectorMath()(mod) is mod


@pytest.mark.cpu
def test_results():
    rng = np.random.default_rng(0)
    a, b, c = (rng.uniform(0.1, 3, 8).astype(t) for t in ("float32", "float16", "float64"))
    wanted = np.exp(a), np.tanh(b), np.log(c)
    tvm.compile(mixed)["mixed"](a, b, c)
    np.testing.assert_allclose(a, wanted[0], rtol=3e-7)
    np.testing.assert_allclose(b, wanted[1], rtol=2e-3)
    np.testing.assert_allclose(c, wanted[2], rtol=1e-14)


def test_functions_stay_calls_in_c():
    mod = tvm.IRModule.from_expr(mixed.with_attr("target", tvm.target.Target("c")))
    tvm.ir.assert_structural_equal(VectorMath()(mod), mod)


@pytest.mark.cpu
@pytest.mark.parametrize("option", ["-fast-math", "-fast-math-reassoc", "-fast-math-nsz"])
def test_fast_math_keeps_functions_right(option):
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in T.vectorized(64):
            B[i] = T.exp(A[i]) + T.sin(A[i])

    x, found = np.linspace(-20, 20, 64).astype("float32"), np.zeros(64, "float32")
    tvm.compile(func, target=f"llvm {option}")["func"](x, found)
    np.testing.assert_allclose(found, np.exp(x) + np.sin(x), rtol=2e-6)

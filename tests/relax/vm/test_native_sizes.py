"""Sizes that a native graph names and compares before its first kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import ShapeError
from tvm.ir import IRModule
from tvm.relax.backend import cpu_generic
from tvm.relax.expr import MatchCast, Var
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo
from tvm.relax.vm.native import native_graph
from tvm.relax.vm.native_sizes import Sizes
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.tir import Var as TirVar
from tvm.tir import if_then_else

pytestmark = pytest.mark.cpu


def _both_forms(mod: IRModule) -> list[Any]:
    """The function `main` as native code, which it must be, and as bytecode."""
    lowered = cpu_generic.get_default_pipeline(tvm.target.Target("llvm")).graph(mod)
    native_graph(lowered, lowered.get_global_var("main"), profile=True)
    return [
        relax.VirtualMachine(relax.build(mod, "llvm", exec_mode=mode), tvm.cpu())["main"]
        for mode in ("compiled", "bytecode")
    ]


def test_casts_compare_sizes_before_the_first_kernel() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", "k"), "float32")):
            m = T.int64()
            y = R.match_cast(x, R.Tensor((m, m), "float32"))
            z = R.exp(y)
            return z

    x = np.ones((3, 4), "float32")
    told = []
    for main in _both_forms(Mod):
        np.testing.assert_allclose(main(x[:, :3].copy()).numpy(), np.exp(x[:, :3]), rtol=1e-6)
        with pytest.raises(ShapeError, match="expects extent 3 in dimension 1") as caught:
            main(x)
        told.append(str(caught.value).splitlines())
    assert told[0][1] == told[1][1] == "  found: shape (3, 4): extent 1 is 4"


def test_branches_give_tuples_whose_sizes_are_compared() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(
            go: R.Tensor((), "bool"), x: R.Tensor(("n", 4), "float32"), s: R.Tensor(("m",), "int64")
        ):
            n = T.int64()
            m = T.int64()
            if go:
                y = R.exp(x)
                pair = R.match_cast(
                    (y, s), R.Tuple(R.Tensor((m, 4), "float32"), R.Tensor((n,), "int64"))
                )
                z = pair
            else:
                other = (R.zeros((m, 4), "float32"), R.zeros((n,), "int64"))
                z = other
            return z

    x, s = np.ones((3, 4), "float32"), np.arange(3)
    told = []
    for main in _both_forms(Mod):
        first, second = main(np.array(True), x, s)
        np.testing.assert_allclose(first.numpy(), np.exp(x), rtol=1e-6)
        np.testing.assert_array_equal(second.numpy(), s)
        first, second = main(np.array(False), x, s[:2])
        assert (first.shape, second.shape) == ((2, 4), (3,))
        with pytest.raises(ShapeError, match="expects extent 3 in dimension 0") as caught:
            main(np.array(True), x, s[:2])
        told.append(str(caught.value).splitlines())
    assert told[0][1] == told[1][1] == "  found: shape (2,): extent 0 is 2"


def test_sizes_that_are_named_as_the_graph_runs() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", "k"), "float32"), y: R.Tensor(("m",), "float32")):
            n = T.int64()
            k = T.int64()
            m = T.int64()
            a = T.int64()
            b = T.int64()
            with R.dataflow():
                _ = R.match_cast(R.shape([T.if_then_else(n == 1, k, n), k * 2]), R.Shape([a, b]))
                _1 = R.match_cast(R.shape([m - 1]), R.Shape([a]))
                z: R.Tensor((a, b), "float32") = R.full(R.shape([a, b]), R.const(2.0), "float32")
                w: R.Tensor((a, b), "float32") = R.exp(z)
                R.output(w)
            return w

    for main in _both_forms(Mod):
        for n, k in ((3, 2), (1, 5)):
            rows = k if n == 1 else n
            found = main(np.zeros((n, k), "float32"), np.zeros(rows + 1, "float32")).numpy()
            np.testing.assert_allclose(found, np.full((rows, 2 * k), np.exp(2.0)), rtol=1e-6)
        with pytest.raises(ShapeError, match="expects extent 3 in dimension 0"):
            main(np.zeros((3, 2), "float32"), np.zeros(9, "float32"))


def test_views_compare_sizes_that_nothing_else_compares() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", "k", 64), "float32"), y: R.Tensor(("m",), "float32")):
            n = T.int64()
            k = T.int64()
            m = T.int64()
            with R.dataflow():
                a = R.exp(x)
                b: R.Tensor((n, m, k * 4 // m, 16), "float32") = R.reshape(
                    a, R.shape([n, m, k * 4 // m, 16])
                )
                c = R.permute_dims(b, [0, 2, 1, 3])
                R.output(c)
            return c

    rng = np.random.default_rng(0)
    lowered = cpu_generic.get_default_pipeline(tvm.target.Target("llvm")).graph(Mod)
    assert "R.reshape" in lowered["main"].script()
    for main in _both_forms(Mod):
        for n, k, m in ((2, 3, 3), (1, 6, 8), (3, 2, 4)):
            x = rng.random((n, k, 64), "float32")
            found = main(x, np.zeros(m, "float32")).numpy()
            wanted = np.exp(x).reshape(n, m, k * 4 // m, 16).transpose(0, 2, 1, 3)
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
        with pytest.raises(ShapeError, match=r"reshape_extent.* expects extent 320"):
            main(np.zeros((2, 3, 64), "float32"), np.zeros(5, "float32"))


def _cast(have: Any, want: Any) -> MatchCast:
    return MatchCast(Var("s", ShapeStructInfo([want])), ShapeExpr([have]), ShapeStructInfo([want]))


def test_results_are_told_by_the_parameters() -> None:
    n, a, b = (TirVar(name, "int64") for name in "nab")
    sizes = Sizes([n], "main")
    assert sizes.match(_cast(n + 1, a)) is None
    assert sizes.match(_cast(a * 2, b)) is None
    assert str(sizes.of_parameters(b)) == "(n + T.int64(1)) * T.int64(2)"
    assert sizes.match(_cast(a, n + 1)) is None  # the same, seen from the parameters


def test_expressions_that_grow_are_not_written_out() -> None:
    n = TirVar("n", "int64")
    sizes, last = Sizes([n], "main"), n
    for i in range(40):
        named = TirVar(f"a{i}", "int64")
        assert sizes.match(_cast(if_then_else(last == 1, last + 1, last * 2), named)) is None
        last = named
    told = sizes.of_parameters(last)
    assert told is None or len(str(told)) < 20_000


def test_what_only_data_tells_is_in_the_way() -> None:
    n, a, b = (TirVar(name, "int64") for name in "nab")
    assert "come from data" in str(Sizes([n], "main").match(_cast(a, n)))
    assert "come from data" in str(Sizes([n], "main").match(_cast(n, a + b)))

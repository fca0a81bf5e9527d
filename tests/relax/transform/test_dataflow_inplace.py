"""DataflowUseInplaceCalls: where results may take the place of operands, and that they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import run_interp
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.relax.transform.dataflow_inplace import (
    InplaceOpportunity,
    inplace_call,
    inplace_opportunities,
)
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Basic:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            z = R.add(x, y)  # x and y are the caller's
            p = R.add(z, z)  # z is read no more
            r = p
            m = R.multiply(p, p)  # r is p, and is read
            n = R.add(m, r)  # m is read, r is not
            ret = R.subtract(n, m)
            R.output(ret)
        return ret


def _found(mod: IRModule, inputs: Any = ()) -> tuple[list[Any], list[Any]]:
    fitting, exact = inplace_opportunities(mod["main"].body.blocks[0], inputs)
    return ([(o.binding_idx, set(o.arg_idxs)) for o in fitting],
            [(o.binding_idx, set(o.arg_idxs)) for o in exact])  # fmt: skip


def test_operands_that_nobody_reads_any_more() -> None:
    fitting, exact = _found(Basic)
    assert fitting == exact == [(1, {0, 1}), (4, {1}), (5, {0, 1})]
    # what the caller gave is still the caller's
    assert _found(Basic, Basic["main"].params)[0] == fitting


def test_sizes_may_fit_where_shapes_differ() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 2), "float32"), y: R.Tensor((1,), "float32")):
            with R.dataflow():
                a = R.reshape(x, (1, 8))
                b = R.reshape(a, (8,))  # a copy, as far as this analysis goes
                c = R.exp(y)
                d = R.add(b, c)  # c is too small
                R.output(d)
            return d

    fitting, exact = _found(Mod)
    assert fitting == exact == [(3, {0})]


def test_fields_of_tuples_that_are_read_later_stay() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                t = (a, x)
                b = R.add(a, a)
                c = t[0]
                gv = R.add(b, c)
                R.output(gv)
            return gv

    assert _found(Mod)[1] == [(4, {0, 1})]


def test_kernels_write_over_their_operands() -> None:
    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def add_inplace(
            A: T.Buffer((T.int64(2), T.int64(3)), "float32"),
            B: T.Buffer((T.int64(2), T.int64(3)), "float32"),
        ):
            T.func_attr({"tir.noalias": True})
            for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
                with T.block("T_add"):
                    v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    T.reads(A[v0, v1], B[v0, v1])
                    T.writes(A[v0, v1])
                    A[v0, v1] = A[v0, v1] + B[v0, v1]

        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
            cls = Expected
            with R.dataflow():
                z = R.add(x, y)
                p = R.call_tir_inplace(
                    cls.add_inplace, (z, y), inplace_indices=[0],
                    out_sinfo=R.Tensor((2, 3), "float32"),
                )  # fmt: skip
                R.output(p)
            return p

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                z = R.add(x, y)
                p = R.add(z, y)
                R.output(p)
            return p

    assert_structural_equal(DataflowUseInplaceCalls()(Before), Expected)


@pytest.mark.cpu
def test_the_numbers_stay_the_same() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("n", 3), "float32")):
            with R.dataflow():
                z = R.subtract(x, y)
                a = R.nn.silu(z)
                p = R.nn.relu(a)
                q = R.divide(y, p)
                r = R.multiply(q, q)
                ret = R.add(r, q)
                R.output(ret)
            return ret

    for mod in (Mod, Basic):
        after = DataflowUseInplaceCalls()(mod)
        assert "call_tir_inplace" in after.script()
        assert relax.analysis.well_formed(after)
        rng = np.random.default_rng(0)
        x, y = (rng.standard_normal((2, 3)).astype("float32") for _ in range(2))
        x = np.abs(x) + 3
        given = x.copy(), y.copy()
        results = [
            relax.VirtualMachine(tvm.compile(one, "llvm"), tvm.cpu())["main"](*given).numpy()
            for one in (mod, after)
        ]
        np.testing.assert_allclose(*results, rtol=1e-6)
        np.testing.assert_array_equal(given[0], x)


def test_rejects_an_operator_without_a_kernel() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    with pytest.raises(TVMError, match="no kernel for the operator"):
        inplace_call(bb, relax.op.shape_of(x), [0])


def test_an_opportunity_by_keywords() -> None:
    found = InplaceOpportunity(_binding_idx=2, _arg_idxs=[0, 1])
    assert (found.binding_idx, found.arg_idxs) == (2, (0, 1))


def test_kernels_in_place_have_parameters_of_their_own() -> None:
    @I.ir_module
    class Twice:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                c = R.multiply(b, x)
                d = R.multiply(x, c)
                R.output(d)
            return d

    mod = DataflowUseInplaceCalls()(Twice)
    params = [p for f in mod.functions.values() if isinstance(f, tir.PrimFunc) for p in f.params]
    assert len(set(params)) == len(params) > 2
    again = tvm.script.from_source(mod.script())
    tvm.ir.assert_structural_equal(again, mod)


def test_a_number_in_front_is_no_operand_of_the_kernel() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                a = R.exp(x)
                b = R.subtract(R.const(2.0, "float32"), a)
                R.output(b)
            return b

    after = DataflowUseInplaceCalls()(Mod)
    last = after["main"].body.blocks[0].bindings[-1].value
    assert last.op.name == "relax.call_tir_inplace"
    assert list(last.attrs.inplace_indices) == [0]
    x = np.arange(4, dtype="float32")
    np.testing.assert_allclose(run_interp(after, [x]), 2 - np.exp(x), rtol=1e-6)

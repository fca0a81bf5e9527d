from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import assert_same, run_interp
from tvm.ir import assert_structural_equal
from tvm.relax.analysis.well_formed import faults_of
from tvm.relax.transform import AllocateWorkspace
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Before:
    @R.function
    def fused(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Codegen": "cutlass", "WorkspaceSize": 64})

        @R.function
        def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"Composite": "cutlass.exp", "Primitive": True, "WorkspaceSize": 64})
            with R.dataflow():
                z = R.exp(y)
                R.output(z)
            return z

        gv = inner(x)
        return gv

    @R.function
    def small(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Codegen": "cutlass", "WorkspaceSize": 16})
        gv = R.negative(x)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Before
        with R.dataflow():
            a = R.sqrt(x)
            b = cls.fused(a)
            c = cls.small(b)
            gv = R.add(b, c)
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor((4,), "float32")):
        return R.sqrt(x)


def test_callers_give_scratch_memory() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def fused1(
            x: R.Tensor((4,), "float32"), workspace: R.Tensor((64,), "uint8")
        ) -> R.Tensor((4,), "float32"):
            R.func_attr({"Codegen": "cutlass"})

            @R.function
            def inner(
                y: R.Tensor((4,), "float32"), workspace_1: R.Tensor((64,), "uint8")
            ) -> R.Tensor((4,), "float32"):
                R.func_attr({"Composite": "cutlass.exp", "Primitive": True})
                with R.dataflow():
                    z = R.exp(y)
                    R.output(z)
                return z

            gv = inner(x, workspace)
            return gv

        @R.function
        def small1(
            x: R.Tensor((4,), "float32"), workspace: R.Tensor((64,), "uint8")
        ) -> R.Tensor((4,), "float32"):
            R.func_attr({"Codegen": "cutlass"})
            gv = R.negative(x)
            return gv

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Expected
            with R.dataflow():
                workspace_main = R.builtin.alloc_tensor(
                    R.shape([64]), R.dtype("uint8"), R.prim_value(0)
                )
                a = R.sqrt(x)
                b = cls.fused1(a, workspace_main)
                c = cls.small1(b, workspace_main)
                gv = R.add(b, c)
                R.output(gv)
            return gv

        @R.function
        def other(x: R.Tensor((4,), "float32")):
            return R.sqrt(x)

    after = AllocateWorkspace()(Before)
    assert_structural_equal(after, Expected)
    assert faults_of(after) == []


def test_without_requests_nothing_changes() -> None:
    @I.ir_module
    class Plain:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.sqrt(x)

    assert_structural_equal(AllocateWorkspace()(Plain), Plain)


def test_each_block_that_calls_has_its_own() -> None:
    @I.ir_module
    class Blocks:
        @R.function
        def fused(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"Codegen": "cutlass", "WorkspaceSize": 8})
            gv = R.negative(x)
            return gv

        @R.function
        def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
            cls = Blocks
            with R.dataflow():
                a = cls.fused(x)
                R.output(a)
            if c:
                y = cls.fused(a)
            else:
                y = R.exp(a)
            with R.dataflow():
                gv = cls.fused(y)
                R.output(gv)
            return gv

    after = AllocateWorkspace()(Blocks)
    assert faults_of(after) == []
    assert after.script().count("alloc_tensor") == 3
    x = np.ones(4, "float32")
    for cond in (True, False):
        args = [x, np.array(cond)]
        assert_same(run_interp(Blocks, args), run_interp(after, args))

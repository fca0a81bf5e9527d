"""The analyses as tests of users ask for them."""

from __future__ import annotations

import pytest

from tvm.ir import assert_structural_equal
from tvm.relax.testing.transform import (
    ApplyEmptyCppMutator,
    dataflow_alias_analysis,
    dataflow_inplace_analysis,
    dataflow_liveness_analysis,
    dataflow_single_inplace_call,
)
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            z = R.nn.relu(y)
            R.output(z)
        return z


def test_questions_about_a_block() -> None:
    block, params = Mod["main"].body.blocks[0], Mod["main"].params
    y, z = (binding.var for binding in block.bindings)
    assert dataflow_liveness_analysis(block) == {params[0]: (-1, 2), y: (0, 1), z: (1, 2)}
    assert dataflow_alias_analysis(block, params) == ({params[0]: {0}, y: {1}, z: {2}}, {})
    assert dataflow_inplace_analysis(block, [], Mod) == ([(1, {0})], [(1, {0})])


def test_one_call() -> None:
    call, mod = dataflow_single_inplace_call(Mod, Mod["main"].body.blocks[0].bindings[1].value, [0])
    assert call.op.name == "relax.call_tir_inplace"
    assert list(call.attrs.inplace_indices) == [0]
    assert len(mod["relu_inplace"].params) == 1


def test_a_mutator_that_changes_nothing() -> None:
    assert_structural_equal(ApplyEmptyCppMutator()(Mod), Mod)


def test_items_are_no_use_of_their_tuple() -> None:
    @R.function
    def func(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        with R.dataflow():
            t = (x, y)
            a = t[0]
            b = R.exp(a)
            c = t[1]
            d = R.add(b, c)
            R.output(d)
        return d

    found = dataflow_liveness_analysis(func.body.blocks[0])
    ranges = {var.name_hint: where for var, where in found.items()}
    assert ranges == {
        "x": (-1, 5), "y": (-1, 5), "t": (0, 0), "a": (1, 2), "b": (2, 4), "c": (3, 4), "d": (4, 5),
    }  # fmt: skip

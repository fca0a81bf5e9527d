"""A loss behind a function."""

from __future__ import annotations

import re

import pytest

from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.analysis import well_formed
from tvm.relax.training import AppendLoss, L1Loss
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Network:
    @R.function
    def forward(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            out = R.exp(a)
            state = R.sum(a)
            R.output(out, state)
        return out, state


@R.function
def distance(out: R.Tensor((2, 4), "float32"), target: R.Tensor((2, 4), "float32")):
    with R.dataflow():
        d = R.subtract(out, target)
        total = R.sum(d)
        R.output(total)
    return total


def joined(loss: object, count: int = 1, mod: IRModule = Network) -> IRModule:
    after = AppendLoss("forward", loss, count)(mod)
    assert well_formed(after)
    return after


def test_results_that_the_loss_does_not_take_come_behind_it() -> None:
    @R.function
    def forward_loss(
        x: R.Tensor((2, 3), "float32"),
        w: R.Tensor((3, 4), "float32"),
        target: R.Tensor((2, 4), "float32"),
    ):
        with R.dataflow():
            a = R.matmul(x, w)
            out = R.exp(a)
            state = R.sum(a)
            d = R.subtract(out, target)
            total = R.sum(d)
            R.output(state, total)
        return total, state

    after = joined(distance)
    assert_structural_equal(after["forward_loss"], forward_loss)
    assert_structural_equal(after["forward"], Network["forward"])


def test_a_loss_of_several_results() -> None:
    @R.function
    def both(out: R.Tensor((2, 4), "float32"), state: R.Tensor((), "float32")):
        with R.dataflow():
            total = R.add(R.sum(out), state)
            R.output(total)
        return total

    @R.function
    def forward_loss(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            out = R.exp(a)
            state = R.sum(a)
            lv = R.sum(out)
            total = R.add(lv, state)
            R.output(total)
        return total

    assert_structural_equal(joined(both, 2)["forward_loss"], forward_loss)


def test_the_name_can_be_chosen() -> None:
    after = AppendLoss("forward", distance, new_func_name="judged")(Network)
    assert after["judged"].attrs["global_symbol"] == "judged"


def test_symbolic_sizes_meet() -> None:
    @I.ir_module
    class Symbolic:
        @R.function
        def forward(x: R.Tensor(("n", 3), "float32")):
            with R.dataflow():
                out = R.exp(x)
                R.output(out)
            return out

    func = Symbolic["forward"]
    loss = L1Loss()(func.ret_struct_info, func.ret_struct_info)
    with pytest.raises(TVMError, match="goes to the loss's parameter 'out'"):
        joined(distance, mod=Symbolic)
    x, targets = joined(loss, mod=Symbolic)["forward_loss"].params
    assert targets.struct_info.shape[0] is x.struct_info.shape[0]


@R.function
def a_vector(out: R.Tensor((2, 4), "float32")):
    with R.dataflow():
        rows = R.sum(out, axis=1)
        R.output(rows)
    return rows


@R.function
def no_block(out: R.Tensor((2, 4), "float32")):
    return out


@pytest.mark.parametrize(
    ("name", "loss", "count", "told"),
    [
        ("forward", a_vector, 1, "one tensor without dimensions"),
        ("forward", no_block, 1, "the loss must be one dataflow block"),
        ("forward", distance, 3, "num_backbone_outputs=3"),
        ("forward", distance, 2, "'state' goes to the loss's parameter 'target'"),
    ],
)
def test_what_is_refused(name: str, loss: object, count: int, told: str) -> None:
    with pytest.raises(TVMError, match=re.escape(told)):
        AppendLoss(name, loss, count)(Network)


def test_a_function_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="backward"):
        AppendLoss("backward", distance)(Network)

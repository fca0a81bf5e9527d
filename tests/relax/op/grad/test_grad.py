"""Operators that gradients are written with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.relax.op.cases import info, var
from tests.relax.programs import run_interp
from tvm import relax
from tvm.error import ShapeError
from tvm.ir import Op
from tvm.relax import op
from tvm.relax.op.grad.grad import FOR_PIPELINES

pytestmark = pytest.mark.pure


def test_marks_are_the_value_itself() -> None:
    x = var(2)
    for mark in (op.grad.no_grad, op.grad.start_checkpoint, op.grad.end_checkpoint):
        call = mark(x)
        assert info(call) is x.struct_info
        assert call.op.get_attr("FLegalize")(relax.BlockBuilder(), call) is x


def test_gradients_have_the_shape_of_what_they_are_for() -> None:
    x, places = var(4, 5), var(3, dtype="int64")
    assert info(op.grad.take_backward(var(3, 5), x, places, 0)) is x.struct_info
    image = var(1, 2, 6, 6)
    assert info(op.grad.max_pool2d_backward(var(1, 2, 3, 3), image, 2, 2)) is image.struct_info


def test_largest_element_gets_the_gradient_once() -> None:
    call = op.grad.max_pool2d_backward(var(1, 1, 1, 1), var(1, 1, 2, 2), (2, 2), (2, 2))
    equal = np.ones((1, 1, 2, 2), "float32")
    found = Op.get("relax.grad.max_pool2d_backward").get_attr("FReference")(
        call, [np.float32([[[[5]]]]), equal]
    )
    assert found.ravel().tolist() == [5, 0, 0, 0]


def test_ignored_targets_get_no_gradient() -> None:
    call = op.grad.nll_loss_backward(
        var(2), var(2, 3), var(2, dtype="int64"), reduction="none", ignore_index=1
    )
    found = Op.get("relax.grad.nll_loss_backward").get_attr("FReference")(
        call, [np.float32([2, 3]), np.zeros((2, 3), "float32"), np.int64([1, 2])]
    )
    assert found.tolist() == [[0, 0, 0], [0, 0, -3]]


@pytest.mark.parametrize("ignored", [-100, 1])
def test_targets_that_are_ignored_need_be_no_class_when_a_program_runs(ignored: int) -> None:
    shapes = [((2, 3), "float32"), ((2,), "int64")]
    x, t = (relax.Var(n, relax.TensorStructInfo(s, d)) for n, (s, d) in zip("xt", shapes))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, t]):
        one = relax.const(1.0)
        bb.emit_func_output(bb.emit(op.grad.nll_loss_backward(one, x, t, None, "sum", ignored)))
    kernels = relax.transform.LegalizeOps(FOR_PIPELINES)(bb.get())
    given = [np.ones((2, 3), "float32"), np.array([ignored, 2])]
    assert run_interp(kernels, given).tolist() == [[0, 0, 0], [0, 0, -1]]


def test_rows_of_a_gather_are_added_in_parallel_when_a_program_runs() -> None:
    shapes = [((3, 2), "float32"), ((2, 2), "float32"), ((3,), "int64")]
    params = [relax.Var(n, relax.TensorStructInfo(s, d)) for n, (s, d) in zip("gxi", shapes)]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(op.grad.take_backward(*params, axis=0)))
    kernels = relax.transform.LegalizeOps(FOR_PIPELINES)(bb.get())
    assert "T.parallel" in kernels["take_backward"].script()
    assert "T.parallel" not in relax.transform.LegalizeOps()(bb.get())["take_backward"].script()
    given = [np.float32([[1, 2], [3, 4], [5, 6]]), np.zeros((2, 2), "float32"), np.array([1, 0, 1])]
    assert run_interp(kernels, given).tolist() == [[3, 4], [6, 8]]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: op.grad.nll_loss_backward(var(), var(), var(dtype="int64")), "have no classes"),
        (lambda: op.grad.max_pool2d_backward(var(1, 2, 3), var(1, 2, 3, 4)), "output_grad must"),
        (lambda: op.grad.avg_pool2d_backward(var(1, 2, 3, 4), var(1)), "data must have 4"),
        (lambda: op.grad.take_backward(var(), var(), var(2, dtype="int64"), 0), "out of range"),
        (lambda: op.quantize(var(), var(2), var(2, dtype="int8"), 0, "int8"), "data has none"),
    ],
)
def test_ranks_that_do_not_fit(make: Callable[[], relax.Call], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        info(make())

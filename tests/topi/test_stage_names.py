"""Names, tags, loops and types of the stages that operators make: schedules and rules find them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import evaluate
from tvm import te, tir, topi
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure


def blocks(*tensors: te.Tensor) -> dict[str, tir.Block]:
    func = te.create_prim_func(list(tensors))
    return {n.name_hint: n for n in walk(func.body) if isinstance(n, tir.Block)}


def axes(block: tir.Block) -> list[str]:
    return [axis.var.name for axis in block.iter_vars]


def test_reduction_axes_are_named_by_dimension() -> None:
    a = te.placeholder((2, 3, 4), name="A")
    assert axes(blocks(a, topi.sum(a, axis=[0, 2]))["A_red"]) == ["v_ax0", "v_k0", "v_k2"]
    b = te.placeholder((4,), name="B")
    made = blocks(a, b, topi.nn.layer_norm(a, b, None, [2]))
    assert axes(made["A_red_temp"]) == ["v_ax0", "v_ax1", "v_k2"]


def test_einsum_sums_over_its_letters() -> None:
    a, b = te.placeholder((2, 3), name="A"), te.placeholder((3, 4), name="B")
    product = topi.einsum("ij,jk->ik", a, b)
    assert product.op.tag == "einsum"
    assert axes(blocks(a, b, product)["T_einsum"]) == ["v_ax0", "v_ax1", "v_j"]


def test_group_norm_of_halves_is_cast_once() -> None:
    a = te.placeholder((2, 4, 5), "float16", name="A")
    g, b = (te.placeholder((4,), "float16", name=name) for name in "GB")
    made = blocks(a, g, b, topi.nn.group_norm(a, g, b, 2, 1, [2]))
    assert "T_cast" in made
    assert axes(made["A_red_temp"]) == ["v_ax0", "v_ax1", "v_k2", "v_k3"]


def test_reductions_of_layouts_with_the_batch_last() -> None:
    a, w = te.placeholder((8, 9, 4, 1)), te.placeholder((3, 2, 4, 6))
    made = blocks(a, w, topi.nn.conv2d_hwcn(a, w, 1, 0, 1))
    assert axes(made["conv2d_hwcn"])[4:] == ["v_rx", "v_ry", "v_rc"]


def test_take_by_one_number_drops_the_axis() -> None:
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    got = evaluate(lambda t: topi.take(t, tir.const(2, "int64"), 1), x)
    np.testing.assert_array_equal(got, x[:, 2])
    got = evaluate(lambda t: topi.take(t, tir.const(7, "int32"), 2, mode="clip"), x)
    np.testing.assert_array_equal(got, x[:, :, 3])


def test_shapes_are_cast_as_a_whole() -> None:
    a = te.placeholder((2, 3))
    value = topi.shape(a, "int64").op.body[0]
    assert isinstance(value, tir.Cast)
    assert value.value.dtype == "int32"


def test_indices_that_a_condition_chooses_read_the_whole_axis() -> None:
    a = te.placeholder((4, 5), name="A")
    made = blocks(a, topi.nn.reflect_pad(a, (1, 0), (1, 0)))["ReflectPadInput"]
    assert [str(r.extent) for r in made.reads[0].region] == ["4", "5"]

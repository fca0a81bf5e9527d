"""The statements of legalised kernels, as users' expected modules have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvm import relax
from tvm.relax import op
from tvm.relax.transform import LegalizeOps

pytestmark = pytest.mark.pure

X = ((2, 4, 7, 7), "float32")
Shape = tuple[tuple[int, ...], str]


def kernels(build: Callable[..., Any], *shapes: Shape) -> str:
    """The text of a call's kernels; buffers of 64-bit indices print without `T.int64`."""
    bb = relax.BlockBuilder()
    params = [
        relax.Var("ABCD"[i], relax.TensorStructInfo(shape, dtype))
        for i, (shape, dtype) in enumerate(shapes)
    ]
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(build(*params)))
    text: str = LegalizeOps()(bb.get()).script()
    return text


FORMS: list[tuple[Callable[..., Any], list[Shape], list[str]]] = [
    (
        op.nn.cross_entropy_with_logits, [((2, 3), "float32")] * 2,
        ["T_multiply_1[()] = T_multiply_red[()] * T.float32(-1.0)",
         "T_divide[()] = T_multiply_1[()] / T.float32(2.0)"],
    ),
    (
        lambda x: op.nn.avg_pool2d(x, (2, 2), (2, 2), (1, 1)), [((4, 6, 112, 112), "float32")],
        ['T.block_attr({"schedule_rule": "meta_schedule.pool_avg"})',
         "T.min(v_ax2 * T.int64(2), T.int64(111)) + T.int64(2) "
         "- T.max(T.int64(1) - v_ax2 * T.int64(2), T.int64(0)) - v_ax2 * T.int64(2)"],
    ),
    (
        lambda x: op.nn.adaptive_avg_pool2d(x, (1, 1)), [X],
        ["A[v_ax0, v_ax1, v_ax2 * T.int64(7) + v_rv0, v_ax3 * T.int64(7) + v_rv1]",
         "= adaptive_pool_sum[v_ax0, v_ax1, v_ax2, v_ax3] / T.float32(49.0)"],
    ),
    (
        lambda x, a, b: op.nn.group_norm(x, a, b, 2, -3, [-2, -1]),
        [((2, 4, 4, 5), "float32"), ((4,), "float32"), ((4,), "float32")],
        ["(v_ax1 * T.int64(2) + (v_ax4 // T.int64(5) + v_ax3) // T.int64(4) + v_ax2) % T.int64(4)"],
    ),
    (
        lambda x, a, b: op.nn.layer_norm(x, a, b, [0, 1]),
        [((4, 5), "float32")] * 3,
        ["A_red_temp_v0[()] / T.float32(20.0)", "A_red_temp_v1 = T.alloc_buffer(())"],
    ),
    (
        lambda d, s, z: op.dequantize(d, s, z, 0, "float16"),
        [((2, 4), "int8"), ((2,), "float16"), ((2,), "int8")],
        ["T.float32(65504.0)), T.float32(-65504.0)))"],
    ),
    (
        lambda p, t, w: op.nn.nll_loss(p, t, w, ignore_index=-1),
        [((2, 3, 4), "float32"), ((2, 4), "int64"), ((3,), "float32")],
        ["T.Select(B[v_ax0, v_ax1] != T.int64(-1), (T.float32(0.0) - A[v_ax0, B[v_ax0, v_ax1], "
         "v_ax1]) * C[B[v_ax0, v_ax1]], T.float32(0.0))"],
    ),
    (
        lambda x, i, u: op.scatter_elements(x, i, u, axis=1),
        [((4, 4), "float32"), ((2, 2), "int64"), ((2, 2), "float32")],
        ["A = T.match_buffer(var_A, (T.int64(4), T.int64(4)), offset_factor=1)",
         "out_buf[i // T.int64(4), i % T.int64(4)] = A[i // T.int64(4), i % T.int64(4)]"],
    ),
    (
        lambda g, x, i: op.grad.take_backward(g, x, i, axis=1),
        [((3, 2, 5), "float32"), ((3, 4, 5), "float32"), ((2,), "int32")],
        ["out_buf[i // T.int64(5) // T.int64(4), i // T.int64(5) % T.int64(4), i % T.int64(5)] = ",
         "for parallel, serial in T.grid(T.int64(15), T.int64(2)):"],
    ),
    (
        lambda g, x: op.grad.avg_pool2d_backward(g, x, (3, 3), (2, 2), (1, 1, 1, 1)),
        [((1, 2, 4, 4), "float32"), ((1, 2, 8, 8), "float32")],
        ["T.Select(v_ax2 < T.int64(2), T.int64(0), T.Div(v_ax2 - T.int64(2), T.int64(2)) "
         "+ T.int64(1)) <= T.Div(v_ax2 + T.int64(1), T.int64(2)) - v_wh and "
         "T.Div(v_ax2 + T.int64(1), T.int64(2)) - v_wh < T.int64(4)"],
    ),
    (
        lambda g, x: op.grad.max_pool2d_backward(g, x, (2, 2), (2, 2)),
        [((1, 2, 4, 4), "float32"), ((1, 2, 8, 8), "float32")],
        ["maxpool_grad_argmax_v0[v_ax0, v_ax1, v_ax2, v_ax3] = T.int64(-1)",
         "v_ax1 * T.int64(64) + v_ax2 * T.int64(16) + T.Cast(\"int64\", v_dh) * T.int64(8)"],
    ),
    (
        lambda x: op.image.resize2d(x, (8, 6), method="nearest_neighbor"),
        [((1, 2, 4, 4), "float32")],
        ["T.round((T.Cast(\"float32\", v_i2) + T.float32(0.5)) * T.float32(0.5) "
         "- T.float32(0.5))"],
    ),
    (
        lambda x: op.image.resize2d(
            x, (8, 6), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"
        ),
        [((1, 2, 4, 4), "float32")],
        ["T.Div(v_i2, T.int64(2))", "T.round(T.float32(0.66666668653488159)"],  # by axis
    ),
    (
        lambda x, i, u: op.scatter_elements(x, i, u, 0),
        [((3, 4), "float32"), ((2, 4), "int64"), ((2, 4), "float32")],
        ["out_buf[(fused // T.int64(4) * T.int64(12) + fused % T.int64(4) + (B[("],
    ),
    (
        lambda x, i, u: op.scatter_nd(x, i, u),
        [((4, 5), "float32"), ((3, 1), "int64"), ((3, 5), "float32")],
        ["out_buf[(k + T.int64(5) * T_transpose[j // T.int64(3), j % T.int64(3)]) // T.int64(5), "],
    ),
    (
        lambda g, p, t, w: op.grad.nll_loss_backward(g, p, t, w, "mean", -1),
        [((), "float32"), ((2, 3, 4), "float32"), ((2, 4), "int64"), ((3,), "float32")],
        ["all_weights[v_i0, v_i1] = D[C[v_i0, v_i1]]",
         "pred_grad[v_i0, v_i1, v_i2] = T.Select(v_i1 == C[v_i0, v_i2], all_weights[v_i0, v_i2] "
         "* T.float32(-1.0) * T_divide[v_i0, v_i2], T.float32(0.0))"],
    ),
    (
        lambda g, p, t: op.grad.nll_loss_backward(g, p, t, None, "sum", 1),
        [((), "float32"), ((3,), "float32"), ((), "int64")],
        ["weights_new[v_i] = T.Select(v_i == T.int64(1), T.float32(0.0), T_full[v_i])"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("build", "shapes", "lines"), FORMS)
def test_statements(build: Callable[..., Any], shapes: list[Shape], lines: list[str]) -> None:
    text = kernels(build, *shapes)
    for line in lines:
        assert line in text

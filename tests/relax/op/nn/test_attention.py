"""Odd cases of attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tests.relax.programs import run_interp
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import Op
from tvm.relax import op
from tvm.relax.op.nn.attention import BY_HEADS, attention_numpy

pytestmark = pytest.mark.pure

S, T = tir.Var("s", "int64"), tir.Var("t", "int64")
PLAIN = {"scale": None, "causal_mask": None, "window_size": None}


def test_symbolic_lengths() -> None:
    call = op.nn.attention(var(1, S, 2, 8), var(1, T, 2, 8), var(1, T, 2, 4))
    assert shape_of(call) == (1, S, 2, 4)
    assert op.nn.attention(*call.args, var(1, 1, S, T)).op.name == "relax.nn.attention_bias"


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        ([(1, 3, 2, 8), (1, 5, 2, 4), (1, 5, 2, 4)], "dimension 3 of key does not fit"),
        ([(1, 3, 2, 8), (1, 5, 2, 8), (1, 4, 2, 4)], "dimension 1 of value does not fit"),
        ([(1, 3, 8), (1, 5, 2, 8), (1, 4, 2, 4)], "query must have 4 dimensions"),
        ([(1, 3, 2, 8), (1, 5, 2, 8), (1, 5, 2, 8), (1, 2, 3, 4)], "dimension 3 of bias"),
    ],
)
def test_refusals(shapes: list[object], text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(op.nn.attention(*(var(*shape) for shape in shapes)))


def test_unknown_mask() -> None:
    with pytest.raises(ValueError, match="legal: 'TopLeft', 'BottomRight', None"):
        op.nn.attention(*[var(1, 3, 2, 8)] * 3, causal_mask="Left")


def test_masks() -> None:
    q = k = np.zeros((1, 2, 1, 4), "float32")
    longer = np.zeros((1, 4, 1, 4), "float32")
    v = np.arange(4, dtype="float32").reshape(1, 4, 1, 1)
    top = attention_numpy(q, longer, v, **{**PLAIN, "causal_mask": "TopLeft"})
    bottom = attention_numpy(q, longer, v, **{**PLAIN, "causal_mask": "BottomRight"})
    np.testing.assert_allclose(top.ravel(), [0, 0.5], atol=1e-6)
    np.testing.assert_allclose(bottom.ravel(), [1, 1.5], atol=1e-6)
    window = attention_numpy(k, k, v[:, :2], **{**PLAIN, "window_size": 1})
    np.testing.assert_allclose(window.ravel(), [0, 1], atol=1e-6)


@pytest.mark.parametrize("rules", [None, BY_HEADS], ids=["products", "heads"])
@pytest.mark.parametrize("mask", [None, "TopLeft", "BottomRight"])
@pytest.mark.parametrize(("rows", "columns"), [(2, 4), (4, 3)])
def test_both_forms_of_the_kernel(rules: Any, mask: str | None, rows: int, columns: int) -> None:
    shapes = [(1, rows, 2, 4), (1, columns, 2, 4), (1, columns, 2, 3), (1, 1, rows, columns)]
    params = [relax.Var(f"x{i}", relax.TensorStructInfo(s)) for i, s in enumerate(shapes)]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(op.nn.attention(*params, scale=0.3, causal_mask=mask)))
    kernels = relax.transform.LegalizeOps(rules)(bb.get())
    given = [np.random.default_rng(i).standard_normal(s).astype("float32")
             for i, s in enumerate(shapes)]  # fmt: skip
    wanted = attention_numpy(*given, scale=0.3, causal_mask=mask, window_size=None)
    np.testing.assert_allclose(run_interp(kernels, given), wanted, rtol=1e-4, atol=1e-5)


def test_the_form_in_products() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3, 4, 8)))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.nn.attention(x, x, x)))
    text = str(relax.transform.LegalizeOps()(bb.get())["attention"])
    assert "T_reshape = T.alloc_buffer((T.int64(8), T.int64(3), T.int64(8)))" in text
    assert 'T.block_attr({"layout_free_placeholders": [T_reshape_1]})' in text
    assert "/ T.sqrt(T.float32(8.0))" in text
    assert text.count("T.block(\"T_transpose") == 4


def test_several_sequences() -> None:
    x = var(1, 5, 1, 4)
    starts = var(3, dtype="int32")
    call = op.nn.attention_var_len(x, x, x, starts, var(1, dtype="int32"))
    assert shape_of(call) == (1, 5, 1, 4)
    rng = np.random.default_rng(1)
    data = rng.standard_normal((1, 5, 1, 4)).astype("float32")
    where = np.int32([0, 2, 5])
    longest = np.int32([3])
    found = Op.get("relax.nn.attention_var_len").get_attr("FReference")(
        call, [data, data, data, where, where, longest, longest]
    )
    np.testing.assert_allclose(
        found[:, 2:], attention_numpy(*[data[:, 2:]] * 3, **PLAIN), rtol=1e-5
    )


@pytest.mark.parametrize("mask", [None, "TopLeft", "BottomRight"])
def test_rows_behind_the_last_sequence_are_zero(mask: str | None) -> None:
    """And nothing behind the starts is read, which the interpreter would refuse."""
    q, k = var(1, 5, 1, 4), var(1, 6, 1, 4)
    starts, longest = var(3, dtype="int32"), relax.const(2, "int32")
    bb = relax.BlockBuilder()
    with bb.function("main", [q, k, starts]):
        call = op.nn.attention_var_len(q, k, k, starts, longest, causal_mask=mask)
        bb.emit_func_output(bb.emit(call))
    module = relax.transform.LegalizeOps()(bb.get())
    rng = np.random.default_rng(2)
    data = [rng.standard_normal((1, n, 1, 4)).astype("float32") for n in (5, 6)]
    where = np.int32([0, 1, 3])
    found = run_interp(module, [*data, where])
    for first, end in ((0, 1), (1, 3)):
        rows = slice(first, end)
        own = (data[0][:, rows], data[1][:, rows], data[1][:, rows])
        wanted = attention_numpy(*own, **{**PLAIN, "causal_mask": mask})
        np.testing.assert_allclose(found[:, rows], wanted, rtol=1e-5)
    np.testing.assert_array_equal(found[:, 3:], 0)

"""Odd cases of convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tests.relax.programs import calls
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir.structural import structural_equal
from tvm.relax import interp, op
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import LegalizeOps

pytestmark = pytest.mark.pure

N, H = tir.Var("n", "int64"), tir.Var("h", "int64")


def test_symbolic_extents() -> None:
    shape = shape_of(op.nn.conv2d(var(N, 3, H, 8), var(6, 3, 3, 3), (2, 1), padding=1))
    assert shape[:2] == (N, 6)
    assert tir.interp.evaluate(shape[2], {H: 9}) == 5
    assert shape[3] == 8


@pytest.mark.parametrize(
    ("data", "weight", "options", "expected"),
    [
        ((1, 4, 9), (6, 2, 3), {"groups": 2, "dilation": 2}, (1, 6, 5)),
        ((1, 9, 4), (3, 4, 6), {"data_layout": "NWC", "kernel_layout": "WIO"}, (1, 7, 6)),
    ],
)
def test_conv1d(data: object, weight: object, options: object, expected: object) -> None:
    assert shape_of(op.nn.conv1d(var(*data), var(*weight), **options)) == expected


def test_packed_and_changed_layouts() -> None:
    x, w = var(1, 2, 6, 6, 4), var(3, 2, 3, 3, 4, 4)
    call = op.nn.conv2d(x, w, data_layout="NCHW4c", kernel_layout="OIHW4i4o", out_layout="NCHW")
    assert shape_of(call) == (1, 12, 4, 4)
    bb = relax.BlockBuilder()
    kept = call.op.get_attr("FLegalize")(bb, bb.normalize(call))
    assert kept.op.name == "relax.nn.conv2d"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.nn.conv2d(var(1, 4, 5, 5), var(6, 3, 3, 3)), "the channels of data do not fit"),
        (lambda: op.nn.conv2d(var(1, 4, 5, 5), var(5, 2, 3, 3), groups=2),
         "no multiple of groups"),
        (lambda: op.nn.conv2d(var(1, 4, 5, 5), var(6, 4, 3, 3, dtype="float16")),
         "data types of data and weight"),
        (lambda: op.nn.conv2d(var(4, 5, 5), var(6, 4, 3, 3)), "data must have 4 dimensions"),
        (lambda: op.nn.conv2d_transpose(var(1, 4, 5, 5), var(3, 4, 3, 3)), "channels of data"),
        (lambda: op.nn.conv2d_transpose(var(1, 4, 5, 5), var(4, 4, 3, 3), output_padding=(1, 1)),
         "output_padding must be less than strides"),
        (lambda: op.nn.conv1d_transpose(var(1, 3, 5), var(3, 4, 3), groups=2),
         "the input channels are no multiple"),
    ],
)  # fmt: skip
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


def test_options_that_can_never_be_right() -> None:
    with pytest.raises(ValueError, match="conv2d: groups is 0"):
        op.nn.conv2d(var(1, 4, 5, 5), var(6, 4, 3, 3), groups=0)
    with pytest.raises(ValueError, match="conv2d: strides must have 1 or 2 numbers"):
        op.nn.conv2d(var(1, 4, 5, 5), var(6, 4, 3, 3), strides=(1, 1, 1))


def test_dtype_of_the_result() -> None:
    call = op.nn.conv2d(var(1, 4, 5, 5, dtype="int8"), var(6, 4, 3, 3, dtype="int8"),
                        out_dtype="int32")  # fmt: skip
    assert info(call).dtype == "int32"
    assert info(op.nn.conv3d(var(ndim=5), var(ndim=5))).ndim == 5


@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((1, 5, 5, 4), (3, 3, 4, 6),
         {"data_layout": "NHWC", "kernel_layout": "HWIO", "strides": 2, "dilation": 2}),
        ((1, 4, 5, 5), (4, 3, 3, 3),
         {"dilation": (2, 1), "groups": 2, "strides": (2, 1), "padding": 1}),
        ((1, 5, 5, 4), (4, 3, 3, 3),
         {"groups": 2, "data_layout": "NHWC", "out_layout": "NCHW", "output_padding": 0}),
    ],
)  # fmt: skip
def test_transposed_in_any_layout_and_dilated(shape: Any, kernel: Any, options: Any) -> None:
    x, w = var(*shape), var(*kernel, name="w")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        bb.emit_func_output(bb.emit(op.nn.conv2d_transpose(x, w, **options)))
    legal = LegalizeOps()(bb.get())
    assert not any(name.startswith("relax.") for name in calls(legal)), "all became kernels"
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1, 1, dims).astype("float32") for dims in (shape, kernel)]
    wanted, found = interp.run(bb.get(), *arrays), interp.run(legal, *arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "shape", "kernel", "out"),
    [
        (lambda x, w: op.nn.conv2d(x, w), (1, 3, 2, 8), (4, 3, 3, 3), (1, 4, 0, 6)),
        (lambda x, w: op.nn.conv1d(x, w, strides=2), (1, 3, 2), (4, 3, 3), (1, 4, 0)),
        (lambda x, w: op.nn.conv2d_transpose(x, w, padding=1), (1, 3, 1, 2), (3, 4, 2, 2),
         (1, 4, 0, 1)),
    ],
)  # fmt: skip
def test_planes_smaller_than_the_window_have_no_windows(
    call: Any, shape: Any, kernel: Any, out: Any
) -> None:
    x, w = var(*shape), var(*kernel, name="w")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        bb.emit_func_output(bb.emit(call(x, w)))
    arrays = [np.ones(dims, "float32") for dims in (shape, kernel)]
    for mod in (bb.get(), LegalizeOps()(bb.get())):
        assert interp.run(mod, *arrays).shape == out


def test_integers_of_attributes_are_nodes() -> None:
    x, w = var(1, 3, 8, 8), var(4, 3, 3, 3)
    conv = op.nn.conv2d(x, w, strides=2, padding=1)
    pool = op.nn.max_pool2d(x, (2, 2))
    split = op.split(x, 2, 1).attrs
    for numbers in (conv.attrs.strides, conv.attrs.padding, conv.attrs.dilation,
                    pool.attrs.pool_size, (split.indices_or_sections,)):  # fmt: skip
        assert {(type(n), n.dtype) for n in numbers} == {(tir.IntImm, "int64")}
    assert conv.attrs.strides == (2, 2)
    assert hash(conv.attrs.strides) == hash((2, 2))
    assert "strides=[2, 2], padding=[1, 1, 1, 1]" in str(conv)
    again = op.nn.conv2d(x, w, strides=conv.attrs.strides, padding=conv.attrs.padding)
    assert structural_equal(conv, again)
    pattern = is_op("relax.nn.conv2d")(wildcard(), wildcard())
    assert pattern.has_attr({"strides": [2, 2]}).match(conv)

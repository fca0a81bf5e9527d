"""What moves with dimensions: axes, widths, counts, extents. Numbers: see `test_layout_rules`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.relax.op.cases import var
from tests.relax.programs import calls
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.transform.convert_layout import Converter

pytestmark = pytest.mark.pure


class Every(Converter):
    """With the rules of our own pipelines as well."""

    RULES = (*Converter.RULES, "FFollowLayout")


def converted(build: Callable[..., Any]) -> relax.Call:
    """The call behind a convolution that became NHWC; all dimensions are put back at the end."""
    x, w = var(2, 4, 6, 6), var(4, 4, 3, 3, name="w")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            y = bb.emit(op.nn.conv2d(x, w, padding=1))
            out = bb.emit_output(build(y))
        bb.emit_func_output(out)
    mod = bb.get()
    wanted = {"relax.nn.conv2d": ["NHWC", "OHWI"]}
    mod = IRModule({"main": Every(mod["main"], mod, wanted).run()})
    values = [b.value for block in mod["main"].body.blocks for b in block.bindings]
    at = next(i for i, name in enumerate(calls(mod)) if name == "relax.nn.conv2d")
    found = values[at + 1]
    assert isinstance(found, relax.Call), found
    return found


@pytest.mark.parametrize(
    ("build", "name", "options"),
    [
        (lambda y: op.cumsum(y, 1), "relax.cumsum", {"axis": 3}),
        (lambda y: op.argmax(y, -1), "relax.argmax", {"axis": 2}),
        (lambda y: op.sort(y, 1), "relax.sort", {"axis": 3}),
        (lambda y: op.topk(y, 2, 1, "values"), "relax.topk", {"axis": 3}),
        (lambda y: op.repeat(y, 2, 1), "relax.repeat", {"axis": 3}),
        (lambda y: op.tile(y, (2, 3)), "relax.tile", {"repeats": (1, 2, 3, 1)}),
        (lambda y: op.nn.pad(y, [0, 0, 1, 2, 3, 4, 5, 6]), "relax.nn.pad",
         {"pad_width": (0, 0, 3, 4, 5, 6, 1, 2)}),
        (lambda y: op.take(y, relax.const([0, 1], "int64"), axis=1), "relax.take", {"axis": 3}),
        (lambda y: op.quantize(y, relax.const([1.0] * 4, "float32"),
                               relax.const([0] * 4, "int8"), axis=1),
         "relax.quantize", {"axis": 3}),
    ],
)  # fmt: skip
def test_options(build: Callable[..., Any], name: str, options: dict[str, Any]) -> None:
    call = converted(build)
    assert call.op.name == name
    for key, value in options.items():
        assert getattr(call.attrs, key) == value


def test_extents() -> None:
    call = converted(lambda y: op.collapse_sum_to(y, (2, 4, 1, 1)))
    assert [int(n) for n in call.args[1].values] == [2, 1, 1, 4]


@pytest.mark.parametrize(
    "build", [lambda y: op.cumsum(y), lambda y: op.reshape(y, (-1,)), lambda y: op.tril(y)]
)
def test_where_order_is_the_meaning_all_is_put_back(build: Callable[..., Any]) -> None:
    assert converted(build).op.name == "relax.permute_dims"

"""Each layout rule on each case of its operators: operands in another order, the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.op.cases import CASES, SYMBOLS, Case, Tensor, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir.op import Op
from tvm.relax import interp
from tvm.relax.expr import Function, SeqExpr
from tvm.relax.op import layout_rules
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.convert_layout import Converter

pytestmark = pytest.mark.pure


class Every(Converter):
    """With the rules of our own pipelines as well."""

    RULES = (*Converter.RULES, "FFollowLayout")


def _has_rule(name: str) -> bool:
    if f"relax.{name}" not in Op.list_op_names():  # written with others
        return False
    return any(map(Op.get(f"relax.{name}").has_attr, Every.RULES))


def _function(case: Case) -> Function:
    symbols = {name: tir.Var(name, "int64") for name in SYMBOLS}
    variables = [
        relax.Var(f"x{i}", TensorStructInfo(
            [symbols[e] if isinstance(e, str) else e for e in x.shape], x.dtype))
        for i, x in enumerate(case.tensors)
    ]  # fmt: skip
    bb = relax.BlockBuilder()
    with bb.function("main", variables):
        with bb.dataflow():
            out = bb.emit_output(case.build(*variables))
        bb.emit_func_output(out)
    return bb.get()["main"]


def _orders(tensor: Tensor) -> list[int]:
    ndim = len(tensor.shape)
    return [*range(ndim)][::-1] if ndim < 4 else [0, *range(2, ndim), 1]


def _flat(value: Any) -> list[Any]:
    return [value] if not isinstance(value, tuple) else [x for part in value for x in _flat(part)]


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c.tensors and _has_rule(c.op)],
    ids=str,
)
@pytest.mark.parametrize("which", ["all", "first"])
def test_other_layouts_give_the_same(case: Case, which: str) -> None:
    func = _function(case)
    converter = Every(func, relax.BlockBuilder().get(), {})
    params = list(func.params)
    arrays = [x.array(np.random.default_rng(7)) for x in case.tensors]
    moved = list(arrays)
    for i, tensor in enumerate(case.tensors):
        order = _orders(tensor)
        if (which == "first" and i) or order == sorted(order):
            continue
        info = params[i].struct_info
        new = TensorStructInfo([info.values[at] for at in order], info.dtype)
        layout = "".join(layout_rules.LETTERS[at] for at in order)
        params[i] = relax.Var(params[i].name_hint, new)
        converter.assume(func.params[i], params[i], layout)
        moved[i] = np.ascontiguousarray(arrays[i].transpose(order))
    made = converter.run()
    body = SeqExpr(made.body.blocks, made.body.body)
    body.struct_info_ = made.body.struct_info_
    made = Function(params, body, None)
    for a, b in zip(
        _flat(interp.run(func, *arrays)), _flat(interp.run(made, *moved)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_layouts_by_letters() -> None:
    assert layout_rules.initial(4) == "ABCD"
    assert layout_rules.transposed("NCHW", "ABCD", "ACDB") == "NHWC"
    assert layout_rules.renamed("NCHW", "ABCD", "ABCD4b") == "NCHW4c"
    assert layout_rules.layout_axis("ACDB", 1) == 3
    assert layout_rules.layout_axis("ABCD4b", -1) == 3


def test_a_split_layout_fits_without_padding_only() -> None:
    assert layout_rules.fits("ABCD", "ABCD4b", [1, 8, 3, 3])
    assert not layout_rules.fits("ABCD", "ABCD4b", [1, 6, 3, 3])
    n = tir.Var("n", "int64")
    assert layout_rules.fits("ABCD", "ABCD4b", [1, n * 4, 3, 3])
    assert not layout_rules.fits("ABCD", "ABCD4b", [1, n, 3, 3])
    assert not layout_rules.fits("ABCD", "ABCE", [1, 1, 1, 1])


def test_a_desired_layout_has_the_letters_of_the_operator() -> None:
    call = relax.op.nn.conv2d(var(1, 4, 5, 5), var(4, 4, 3, 3, name="w"))
    with pytest.raises(TVMError, match="legal: the letters NCHW in any order"):
        layout_rules.convolved(call, {"relax.nn.conv2d": ["NXHW", "OIHW"]}, lambda e: "ABCD")

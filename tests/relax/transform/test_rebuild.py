"""What passes share: rules over bindings keep what they do not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.relax.interp import Interpreter
from tvm.relax.transform import rebuild
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        y = R.exp(x)
        if c:
            a = R.add(y, x)
            r = R.add(a, x)
        else:
            r = R.nn.relu(x)
        return r


MAIN = Mod["main"]


def test_all_bindings_go_into_branches():
    names = [b.var.name_hint for b in rebuild.all_bindings(MAIN)]
    assert names[0] == "y"
    assert "a" in names
    assert len(names) == 5


def test_a_rule_that_changes_nothing_gives_the_same_function():
    assert rebuild.map_calls(MAIN, lambda call: call) is MAIN
    assert rebuild.map_bindings(MAIN, lambda binding: (binding,)) is MAIN


def test_map_calls_in_a_branch_only():
    def rule(call):
        if call.op.name != "relax.nn.relu":
            return call
        new = relax.op.nn.silu(call.args[0])
        new.struct_info_ = call.struct_info_
        return new

    after = rebuild.map_calls(MAIN, rule)
    assert after is not MAIN
    values = [binding.value for binding in rebuild.all_bindings(after)]
    names = [value.op.name for value in values if isinstance(value, relax.Call)]
    assert names == ["relax.exp", "relax.add", "relax.add", "relax.nn.silu"]
    assert after.body.blocks[0].bindings[0] is MAIN.body.blocks[0].bindings[0]


def test_bindings_may_be_dropped_and_empty_blocks_go():
    def rule(binding):
        return () if binding.var.name_hint == "y" else (binding,)

    after = rebuild.map_bindings(MAIN, rule)
    assert [b.var.name_hint for b in after.body.blocks[0].bindings] == ["r"]


def test_vars_used_with_repeats():
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((4,), "float32"))
    assert list(rebuild.vars_used(relax.op.add(x, x))) == [x, x]
    nested = relax.Tuple([x, relax.Tuple([y])])
    assert list(rebuild.vars_used(nested)) == [x, y]


def test_replace_operands_looks_into_tuples_and_takes_items():
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((4,), "float32"))
    pair = relax.Var("pair", relax.TupleStructInfo([x.struct_info] * 2))
    item = relax.TupleGetItem(pair, 1)
    assert rebuild.replace_operands(item, {pair: relax.Tuple([x, y])}.get) is y
    call = relax.op.concat([x, y], 0)
    assert rebuild.replace_operands(call, {}.get) is call
    swapped = rebuild.replace_operands(call, {x: y, y: x}.get)
    assert list(swapped.args[0].fields) == [y, x]


@I.ir_module
class Nested:
    @R.function
    def main(
        x: R.Tensor((1, 4, 6, 6), "float32"),
        w: R.Tensor((4, 4, 3, 3), "float32"),
        g: R.Tensor((4,), "float32"),
        c: R.Tensor((), "bool"),
    ):
        if c:
            with R.dataflow():
                a = R.nn.conv2d(x, w)
                b = R.nn.batch_norm(a, g, g, g, g, axis=1, training=False)
                d = R.add(b[0], b[0])
                R.output(d)
            y = d
        else:
            with R.dataflow():
                e = R.nn.conv2d(x, w)
                f = R.nn.relu(e)
                h = R.nn.layer_norm(f, g, g, axes=[-1])
                k = R.add(f, h)
                R.output(k)
            y = k

        @R.function
        def inner(z: R.Tensor((1, 4, "n", 4), "float32"), v: R.Tensor((4, 4, 1, 1), "float32")):
            n = T.int64()
            with R.dataflow():
                s = R.nn.conv2d(z, v)
                t = R.add(s, s)
                u = R.nn.relu(t)
                R.output(u)
            return u

        q = R.strided_slice(w, [2, 3], [0, 0], [1, 1])
        r = inner(y, q)
        return r


@pytest.mark.parametrize(
    ("change", "gone", "made"),
    [
        (relax.transform.DecomposeOpsForInference(), "R.nn.batch_norm", None),
        (relax.transform.DecomposeOpsForTraining(), "R.nn.layer_norm", None),
        (
            relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]}),
            'data_layout="NCHW"', 'out_layout="NHWC"',
        ),
        (relax.transform.ToMixedPrecision(), None, 'dtype="float16") = R.nn.relu'),
        (
            relax.transform.ToMixedPrecision(fp16_input_names=["x", "w"]), None,
            'dtype="float16") = R.nn.relu',
        ),
        (relax.transform.DataflowUseInplaceCalls(), None, "inplace_indices"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("taken", [True, False])
def test_passes_work_in_branches_and_local_functions(
    change: Any, gone: str | None, made: str | None, taken: bool
) -> None:
    after = change(Nested)
    text = after.script()
    assert relax.analysis.well_formed(after), text
    assert gone is None or gone not in text
    assert made is None or text.count(made) >= 2, text
    rng = np.random.default_rng(0)
    x, w = rng.random((1, 4, 6, 6), "float32"), rng.random((4, 4, 3, 3), "float32") - 0.5
    g = rng.random(4, "float32") + 0.5
    wanted = Interpreter(Nested).run("main", x, w, g, np.array(taken))
    types = [param.struct_info.dtype for param in after["main"].params[:2]]
    x, w = (a.astype(str(t)) for a, t in zip((x, w), types))
    found = Interpreter(after).run("main", x, w, g, np.array(taken))
    if taken and change.info.name == "DecomposeOpsForTraining":
        return  # the statistics are the batch's own
    np.testing.assert_allclose(found, wanted, rtol=2e-2, atol=2e-2)

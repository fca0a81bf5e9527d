"""The forms of a Relax pass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import calls
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.ir.transform import Pass, PassContext, module_pass
from tvm.relax.transform import dataflowblock_pass, function_pass
from tvm.relax.transform.pass_form import relax_pass
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @T.prim_func
    def kernel(x: T.Buffer((4,), "float32")):
        x[0] = T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            gv = R.exp(x)
            R.output(gv)
        y = R.exp(gv)
        return y


BB = relax.BlockBuilder()


def _marked(func: relax.Function, mark: str = "seen") -> relax.Function:
    return func.with_attr(mark, True)


def test_house_form_has_options_and_a_clean_signature():
    @relax_pass("test.Mark")
    def Mark(func, mod, ctx, *, mark: str = "seen"):
        return _marked(func, mark)

    assert list(inspect.signature(Mark).parameters) == ["mark"]
    after = Mark(mark="here")(Mod)
    assert after["main"].attrs["here"]
    assert after["kernel"] is Mod["kernel"]
    assert Mark().info.name == "test.Mark"
    assert "Run Function pass: test.Mark at the optimization level 0" in str(Mark())


def test_function_pass_of_a_function():
    @function_pass(opt_level=1, name="mark")
    def mark(func, mod, ctx):
        assert mod is Mod
        assert isinstance(ctx, PassContext)
        return _marked(func)

    assert isinstance(mark, relax.transform.FunctionPass)
    assert mark.info.opt_level == 1
    assert mark(Mod)["main"].attrs["seen"]


def test_function_pass_of_a_class():
    @relax.transform.function_pass(opt_level=0)
    class Mark:
        def __init__(self, mark):
            self.mark = mark

        def transform_function(self, func, mod, ctx):
            return _marked(func, self.mark)

    assert Mark("there")(Mod)["main"].attrs["there"]


def test_dataflowblock_pass_sees_dataflow_blocks_only():
    seen = []

    @dataflowblock_pass(opt_level=0)
    def look(block, mod, ctx):
        seen.append(len(block.bindings))
        return block

    assert look(Mod)["main"] is Mod["main"]
    assert seen == [1]
    assert "Run DataflowBlock pass: look" in str(look)


def test_dataflowblock_pass_replaces_blocks():
    @tvm.relax.transform.dataflowblock_pass(opt_level=0)
    class Twice:
        def transform_dataflowblock(self, block, mod, ctx):
            (binding,) = block.bindings
            call = relax.op.nn.relu(binding.value.args[0])
            call.struct_info_ = binding.value.struct_info_
            return relax.DataflowBlock([relax.VarBinding(binding.var, call)])

    assert calls(Twice()(Mod)) == ["relax.nn.relu", "relax.exp"]


@I.ir_module
class Branches:
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        if c:
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                R.output(b)
            y = b
        else:
            y = x

        @R.function
        def inner(z: R.Tensor((4,), "float32")):
            with R.dataflow():
                w = R.cos(z)
                R.output(w)
            return w

        v = inner(y)
        return v


def test_dataflowblock_pass_sees_blocks_in_branches_and_local_functions():
    @dataflowblock_pass(opt_level=0)
    def negate(block, mod, ctx):
        bindings = [
            relax.VarBinding(b.var, BB.normalize(relax.op.negative(b.value.args[0])))
            for b in block.bindings
        ]
        return relax.DataflowBlock(bindings)

    after = negate(Branches)
    assert after.script().count("R.negative") == 3
    assert relax.analysis.well_formed(after)


@I.ir_module
class Cast:
    @R.function
    def main(x: R.Tensor("float32")):
        with R.dataflow():
            n = T.int64()
            a = R.match_cast(x, R.Tensor((n,), "float32"))
            b = R.exp(a)
            R.output(b)
        return b


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (lambda b: [] if b.var.name_hint == "b" else [b], "should not delete any GlobalScope Var"),
        (lambda b: [] if isinstance(b, relax.MatchCast) else [b], "not delete any Symbolic Var"),
        (
            lambda b: [b] if isinstance(b, relax.MatchCast)
            else [relax.VarBinding(relax.Var("b", b.var.struct_info), b.value)],
            "should not rewrite any GlobalScope Var",
        ),
        (
            lambda b: [relax.MatchCast(b.var, b.value, other_symbol(b.struct_info))]
            if isinstance(b, relax.MatchCast) else [b],
            "should not rewrite any Symbolic Var",
        ),
    ],
)  # fmt: skip
def test_dataflowblock_pass_keeps_what_is_seen_outside(rule, text):
    @dataflowblock_pass(opt_level=0)
    def change(block, mod, ctx):
        return relax.DataflowBlock([new for b in block.bindings for new in rule(b)])

    with pytest.raises(TVMError, match=text):
        change(Cast)


def other_symbol(info):
    return relax.TensorStructInfo((tvm.tir.Var("n", "int64"),), info.dtype)


def test_dataflowblock_pass_gives_dataflow_blocks():
    @dataflowblock_pass(opt_level=0)
    def wrong(block, mod, ctx):
        return relax.BindingBlock(block.bindings)

    with pytest.raises(TVMError, match="'wrong' returned BindingBlock"):
        wrong(Cast)


def test_passes_run_by_opt_level():
    @function_pass(opt_level=3, name="late")
    def late(func, mod, ctx):
        return _marked(func)

    pipeline = tvm.ir.transform.Sequential([late])
    with PassContext(opt_level=2):
        assert pipeline(Mod)["main"] is Mod["main"]
    with PassContext(opt_level=3):
        assert pipeline(Mod)["main"].attrs["seen"]


def test_rejects_a_missing_level():
    with pytest.raises(ValueError, match="Please provide opt_level for the function pass"):
        function_pass()(lambda f, m, c: f)


def test_rejects_what_cannot_be_called():
    with pytest.raises(TypeError, match="pass_func must be a callable for dataflowblock pass"):
        dataflowblock_pass(3, opt_level=0)


def test_rejects_a_result_that_is_no_function():
    @function_pass(opt_level=0, name="wrong")
    def wrong(func, mod, ctx):
        return None

    with pytest.raises(TVMError) as caught:
        wrong(Mod)
    assert str(caught.value) == (
        "pass 'wrong' returned NoneType for 'main'; legal: a relax.Function"
    )


def test_a_star_import_brings_the_passes() -> None:
    names: dict[str, object] = {}
    exec("from tvm.relax.transform import *", names)  # the only way to write one in a function
    assert {"LegalizeOps", "FuseOps", "LazyTransformParams", "function_pass"} <= set(names)


def test_passes_of_the_original_s_levels_and_units():
    t, dist = relax.transform, relax.distributed.transform
    first = [
        t.AdjustMatmulOrder(), t.BundleModelParams(), t.EliminateCommonSubexpr(),
        t.ExpandMatmulOfSum(), t.LambdaLift(), t.Normalize(), t.ReorderPermuteDimsAfterConcat(),
        t.ReorderTakeAfterMatmul(), t.UpdateParamStructInfo(lambda var: None),
        t.BindSymbolicVars({}), t.DeadCodeElimination(),
        dist.PropagateSharding(), dist.LowerGlobalViewToLocalView(), dist.LegalizeRedistribute(),
        dist.LowerDistIR(),
    ]  # fmt: skip
    assert [one.info.opt_level for one in first] == [1] * len(first)
    assert t.BindSymbolicVars({}).info.name == "relax.BindSymbolicVars"
    for one in (dist.PropagateSharding(), dist.LowerDistIR(), t.BundleModelParams()):
        assert isinstance(one, tvm.ir.transform.ModulePass)
        assert str(one).startswith("Run Module pass: ")
    with PassContext(opt_level=0):
        assert tvm.transform.Sequential([t.EliminateCommonSubexpr()])(Mod) is Mod


@I.ir_module
class Callers:
    @R.function
    def main(x: R.Tensor(("n", 3), "float32")):
        cls = Callers
        y = cls.double(x)
        return y

    @R.function
    def double(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        return R.add(x, x)


def test_one_module_is_specialised_several_times() -> None:
    for n in (4, 8):
        after = relax.transform.BindSymbolicVars({"n": n})(Callers)
        assert relax.analysis.well_formed(after)
        wanted = relax.TensorStructInfo((n, 3), "float32")
        assert_structural_equal(after["main"].ret_struct_info, wanted)
        assert_structural_equal(after["main"].body.blocks[0].bindings[0].var.struct_info, wanted)
        for var, func in after.functions.items():
            assert_structural_equal(var.struct_info, func.struct_info)


@pytest.mark.parametrize(
    "rewrite",
    [
        relax.transform.BindSymbolicVars({"n": 4}),
        relax.transform.BundleModelParams(),
        relax.transform.LambdaLift(),
        relax.transform.ToMixedPrecision(),
    ],
    ids=str,
)
def test_the_module_that_came_in_stays_as_it_was(rewrite: Pass) -> None:
    infos = {var: var.struct_info_ for var in Callers.functions}
    rewrite(Callers)
    assert all(var.struct_info_ is info for var, info in infos.items())
    assert relax.analysis.well_formed(Callers)


def test_a_pass_that_fails_leaves_the_module_as_it_was() -> None:
    @module_pass(opt_level=0)
    def broken(mod: IRModule, ctx: PassContext) -> IRModule:
        var = mod.get_global_var("double")
        other = relax.transform.BindSymbolicVars({"n": 4})(mod)["main"]
        relax.BlockBuilder(mod).update_func(var, other)
        raise ValueError("after the first function")

    before = Callers.get_global_var("double").struct_info_
    with pytest.raises(ValueError, match="after the first"):
        broken(Callers)
    assert Callers.get_global_var("double").struct_info_ is before


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: relax.transform.Gradient(), "Gradient\\(\\) missing a required argument"),
        (lambda: relax.transform.Gradient(3), "`func_name`"),
        (lambda: relax.transform.Gradient("main", 3), "`require_grads`"),
        (lambda: relax.transform.Normalize(3), "Normalize\\(\\) too many positional"),
        (lambda: relax.transform.BindParams("main", 3), "`params`"),
        (lambda: relax.transform.DeadCodeElimination([3]), "`entry_functions`"),
        (lambda: relax.transform.FuseOps("a"), "`fuse_opt_level`"),
        (lambda: relax.transform.LegalizeOps(3), "`customize_legalize_map`"),
        (lambda: relax.transform.EliminateCommonSubexpr("a"), "`call_only`"),
        (lambda: relax.transform.UpdateVDevice(3, 0), "`new_vdevice`"),
        (lambda: tvm.tir.transform.UnrollLoop(3), "UnrollLoop\\(\\) too many positional"),
        (lambda: tvm.tir.transform.VectorizeLoop("a"), "`enable_vectorize`"),
    ],
)  # fmt: skip
def test_options_are_looked_at_when_a_pass_is_made(make: Callable[[], Any], word: str) -> None:
    with pytest.raises(TypeError, match=word):
        make()


def test_options_of_wrong_values_are_refused_when_a_pass_is_made() -> None:
    with pytest.raises(ValueError, match="Invalid pattern"):
        relax.transform.FuseOpsByPattern([3])
    with pytest.raises(TypeError, match="the pattern is a DFPattern"):
        relax.transform.FuseOpsByPattern([("a", 3)])
    with pytest.raises(ValueError, match="out_dtype does not fit"):
        relax.transform.ToMixedPrecision("foo")


def test_options_may_be_numbers_of_other_kinds() -> None:
    """Constants of TIR, numpy's numbers, 0 and 1 for truth values, tuples for lists."""
    two, yes = tvm.tir.IntImm("int64", 2), np.bool_(True)
    for made in (
        relax.transform.FuseOps(two), relax.transform.ConvertToDataflow(np.int64(2)),
        relax.transform.EliminateCommonSubexpr(yes), relax.transform.FewShotTuning(1, 1),
        relax.transform.DeadCodeElimination(("main",)),
        relax.transform.Gradient("main", (relax.Var("x"),)),
    ):  # fmt: skip
        assert isinstance(made, tvm.ir.transform.Pass)

"""Integer attributes of functions, in every spelling that a script has for an integer."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.int_attrs import int_attr
from tvm.relax.transform import (
    AllocateWorkspace,
    BundleModelParams,
    LazyGetInput,
    LazySetOutput,
    LiftTransformParams,
    RewriteCUDAGraph,
    VMShapeLower,
)
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure

ONE = (1, tvm.tir.IntImm("int32", 1), tvm.tir.IntImm("int64", 1))


def _with_inputs(count: object) -> IRModule:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            with R.dataflow():
                v = R.exp(w)
                y = R.add(x, v)
                R.output(y)
            return y

    return IRModule({"main": Mod["main"].with_attr("num_input", count)})


@pytest.mark.parametrize("count", ONE, ids=["python", "int32", "int64"])
@pytest.mark.parametrize(
    "make", [BundleModelParams, LazyGetInput, LazySetOutput, LiftTransformParams, VMShapeLower,
             RewriteCUDAGraph],
)  # fmt: skip
def test_num_input_in_every_spelling(make: object, count: object) -> None:
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        after = make()(_with_inputs(count))  # type: ignore[operator]
        wanted = make()(_with_inputs(1))  # type: ignore[operator]
    for one in (after, wanted):
        if "num_input" in one["main"].attrs:
            main = one["main"].with_attr("num_input", int(one["main"].attrs["num_input"]))
            one.update_func(one.get_global_var("main"), main)
    tvm.ir.assert_structural_equal(after, wanted)


@pytest.mark.parametrize("count", ONE, ids=["python", "int32", "int64"])
def test_what_is_computable_and_workspaces(count: object) -> None:
    main = _with_inputs(count)["main"]
    names = [var.name_hint for var in relax.analysis.computable_at_compile_time(main)]
    assert names == ["w", "v"]

    @I.ir_module
    class Mod:
        @R.function
        def lib(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"Codegen": "lib"})
            return R.exp(x)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Mod
            y = cls.lib(x)
            return y

    Mod.update_func(Mod.get_global_var("lib"), Mod["lib"].with_attr("WorkspaceSize", count))
    after = AllocateWorkspace()(Mod)
    assert relax.analysis.well_formed(after)
    assert [len(func.params) for _, func in after.functions_items()] != [1, 1]


@pytest.mark.parametrize("wrong", ["1", 1.5, True, [1]])
def test_other_kinds_are_refused(wrong: object) -> None:
    func = _with_inputs(1)["main"].with_attr("num_input", wrong)
    with pytest.raises(TVMError, match=r"the attribute num_input of a function\n  found:"):
        int_attr(func, "num_input")
    assert int_attr(func, "nothing", 3) == 3

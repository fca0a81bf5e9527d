"""LazyGetInput and LazySetOutput: parameters and results one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.transform import LazyGetInput, LazySetOutput, LazyTransformParams
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Before:
    @R.function
    def transform_params(A: R.Tensor((16, 16), "float32"), B: R.Tensor((16, 16), "float32")):
        C = R.multiply(A, R.const(2, "float32"))
        D = R.add(C, B)
        return (D, B)


def test_parameters_are_fetched_at_their_first_use() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def transform_params(
            fget_param: R.Callable([R.Prim("int64"), R.Object], R.Object, True),
        ):
            R.func_attr({"num_input": 1})
            A0 = fget_param(R.prim_value(0), R.str("A"))
            A = R.match_cast(A0, R.Tensor((16, 16), "float32"))
            C = R.multiply(A, R.const(2, "float32"))
            B0 = fget_param(R.prim_value(1), R.str("B"))
            B = R.match_cast(B0, R.Tensor((16, 16), "float32"))
            D = R.add(C, B)
            return (D, B)

    assert_structural_equal(LazyGetInput()(Before), Expected)


def test_inputs_stay_and_shapes_come_with_the_parameters() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(rank: R.Prim(value="r"), w: R.Tensor(("m", "n"), "float32")):
            R.func_attr({"num_input": 1})
            m = T.int64()
            n = T.int64()
            y: R.Tensor((m, n), "float32") = R.exp(w)
            z: R.Tensor((m, n), "float32") = R.add(y, w)
            return z

    @I.ir_module
    class Expected:
        @R.function
        def main(
            rank: R.Prim(value="r"),
            fget_param: R.Callable([R.Prim("int64"), R.Object], R.Object, True),
        ):
            R.func_attr({"num_input": 2})
            m = T.int64()
            n = T.int64()
            w0 = fget_param(R.prim_value(0), R.str("w"))
            w = R.match_cast(w0, R.Tensor((m, n), "float32"))
            y: R.Tensor((m, n), "float32") = R.exp(w)
            z: R.Tensor((m, n), "float32") = R.add(y, w)
            return z

    assert_structural_equal(LazyGetInput()(Mod), Expected)


def test_results_are_handed_out_when_they_are_made() -> None:
    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def transform_params(
            A: R.Tensor((16, 16), "float32"),
            B: R.Tensor((16, 16), "float32"),
            fset_output: R.Callable([R.Prim("int64"), R.Object], R.Tuple([]), False),
        ):
            _ = fset_output(R.prim_value(1), B)
            C = R.multiply(A, R.const(2, "float32"))
            D = R.add(C, B)
            _1 = fset_output(R.prim_value(0), D)
            return R.tuple()

    after = LazySetOutput()(Before)
    assert_structural_equal(after, Expected)
    assert relax.analysis.well_formed(after)
    assert after["transform_params"].body.struct_info is not None
    inputs = IRModule({"f": Before["transform_params"].with_attr("num_input", 1)})
    counted = LazySetOutput()(inputs)["f"]
    assert [param.name_hint for param in counted.params] == ["A", "fset_output", "B"]
    assert counted.attrs["num_input"] == 2


def test_a_single_result_and_one_that_is_written_out() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def one(A: R.Tensor((4,), "float32")):
            B = R.exp(A)
            return B

        @R.function
        def two(A: R.Tensor((4,), "float32")):
            B = R.exp(A)
            return (B, R.const(1.0, "float32"), B)

    after = LazySetOutput()(Mod)
    assert [str(b.value) for b in after["one"].body.blocks[-1].bindings][1:] == [
        "fset_output(R.prim_value(0), B)"
    ]
    calls = [str(b.value) for block in after["two"].body.blocks for b in block.bindings][1:]
    assert calls == [
        "fset_output(R.prim_value(0), B)", "fset_output(R.prim_value(2), B)",
        'fset_output(R.prim_value(1), R.const(1.0, "float32"))',
    ]  # fmt: skip


def test_private_functions_stay() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def main(A: R.Tensor((4,), "float32")):
            return A

    assert LazyGetInput()(Mod)["main"] is Mod["main"]
    assert LazySetOutput()(Mod)["main"] is Mod["main"]


def test_parameters_of_which_only_sizes_are_used_are_fetched_first() -> None:
    @I.ir_module
    class Sizes:
        @R.function
        def main(A: R.Tensor((2,), "float32"), B: R.Tensor(("n",), "float32"), s: R.Shape(["m"])):
            n = T.int64()
            m = T.int64()
            C = R.exp(A)
            D = R.zeros(R.shape([n, m]), "float32")
            return (C, D)

    mod = LazyGetInput()(Sizes)
    assert relax.analysis.well_formed(mod)
    names = [binding.var.name_hint for binding in mod["main"].body.blocks[0].bindings]
    assert names == ["B_untyped", "B", "s_untyped", "s", "A_untyped", "A", "C", "D"]


@pytest.mark.cpu
def test_both_together_run() -> None:
    mod = LazySetOutput()(LazyGetInput()(Before))
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    weights = [np.full((16, 16), i + 1, "float32") for i in range(2)]
    asked: list[str] = []
    made: dict[int, object] = {}

    def fget(index: int, name: str) -> object:
        asked.append(str(name))
        return tvm.runtime.tensor(weights[index])

    vm["transform_params"](fget, lambda i, v: made.__setitem__(int(i), v.numpy()))
    assert asked == ["A", "B"]
    np.testing.assert_array_equal(made[0], weights[0] * 2 + weights[1])
    np.testing.assert_array_equal(made[1], weights[1])


@pytest.mark.parametrize("lazy", [LazyGetInput(), LazyTransformParams(fset_item=None)])
def test_what_a_local_function_captures_is_fetched_before_it(lazy: Any) -> None:
    @I.ir_module
    class Mod:
        @R.function
        def transform_params(a: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32")):
            @R.function
            def inner(y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
                z = R.add(a, y)
                return z

            c = inner(b)
            d = R.multiply(c, a)
            return (d,)

    after = lazy(Mod)
    assert relax.analysis.well_formed(after)
    values = [b.value for b in after["transform_params"].body.blocks[0].bindings]
    at = next(i for i, value in enumerate(values) if isinstance(value, relax.Function))
    assert at == 2  # `a` is fetched and cast
    assert sum(isinstance(value, relax.Function) for value in values) == 1


def test_sizes_are_defined_before_they_are_used() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor(("m",), "float32")):
            m = T.int64()
            a = R.exp(x)
            b = R.zeros(R.shape([m]), "float32")
            c = R.add(b, y)
            return (a, c)

    mod = LazyGetInput()(Mod)
    assert relax.analysis.well_formed(mod)
    names = [binding.var.name_hint for binding in mod["main"].body.blocks[0].bindings]
    assert names == ["x_untyped", "x", "a", "y_untyped", "y", "b", "c"]


@pytest.mark.parametrize("lazy", [LazyGetInput, LazySetOutput])
def test_a_function_with_callers_is_refused(lazy: Any) -> None:
    @I.ir_module
    class Calls:
        @R.function
        def inner(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.exp(x)
            return y

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Calls
            y = cls.inner(x)
            return y

    with pytest.raises(tvm.TVMError, match=r"found: a use of it in 'main'"):
        lazy()(Calls)


def test_dataflow_blocks_stay_and_fetch_for_themselves() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(w: R.Tensor((4,), "float32"), unused: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(w)
                b = R.exp(w)
                c = R.add(a, b)
                R.output(c)
            return (c, w)

    @I.ir_module
    class Expected:
        @R.function
        def main(fget_param: R.Callable((R.Prim("int64"), R.Object), R.Object, True)):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                w = fget_param(R.prim_value(0), R.str("w"))
                w1 = R.match_cast(w, R.Tensor((4,), "float32"))
                a = R.exp(w1)
                c = R.add(a, a)
                R.output(c)
            w2 = fget_param(R.prim_value(0), R.str("w"))
            w3 = R.match_cast(w2, R.Tensor((4,), "float32"))
            return (c, w3)

    assert_structural_equal(LazyGetInput()(Mod), Expected)

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.relax.programs import arguments, assert_same, run_interp
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.analysis.well_formed import faults_of
from tvm.relax.transform import LiftTransformParams
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def check_meaning(before: IRModule, after: IRModule, names: dict[str, str]) -> None:
    """Results with lifted weights are those of before; `names` says which transform is whose."""
    assert faults_of(after) == []
    for name, transform in names.items():
        func = before[name]
        args = arguments(func, {"n": 3, "m": 4, "start": 1})
        count = int(func.attrs["num_input"])
        lifted = run_interp(after, [tuple(args[count:])], transform)
        new = [*args[:count], *lifted]
        assert_same(run_interp(before, args, name), run_interp(after, new, name))


@I.ir_module
class Basic:
    @R.function
    def main(
        x: R.Tensor((1, 3, 8, 8), "float32"),
        w1: R.Tensor((3, 16, 3, 3), "float32"),
        w2: R.Tensor((16, 16, 3, 3), "float32"),
    ) -> R.Tensor((1, 16, 8, 8), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            w1_t = R.permute_dims(w1, [1, 0, 2, 3])
            conv1 = R.nn.conv2d(x, w1_t, padding=(1, 1))
            conv2 = R.nn.conv2d(conv1, w2, padding=(1, 1))
            R.output(conv2)
        return conv2


def test_weights_are_transformed_apart() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((1, 3, 8, 8), "float32"),
            w2: R.Tensor((16, 16, 3, 3), "float32"),
            w1_t: R.Tensor((16, 3, 3, 3), "float32"),
        ) -> R.Tensor((1, 16, 8, 8), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                conv1 = R.nn.conv2d(x, w1_t, padding=(1, 1))
                conv2 = R.nn.conv2d(conv1, w2, padding=(1, 1))
                R.output(conv2)
            return conv2

        @R.function
        def main_transform_params(
            params: R.Tuple(
                R.Tensor((3, 16, 3, 3), "float32"), R.Tensor((16, 16, 3, 3), "float32")
            ),
        ):
            R.func_attr({"num_input": 0})
            with R.dataflow():
                lv = params[0]
                lv1 = R.permute_dims(lv, [1, 0, 2, 3])
                lv2 = params[1]
                gv = (lv2, lv1)
                R.output(gv)
            return gv

    after = LiftTransformParams()(Basic)
    assert_structural_equal(after, Expected)
    assert [p.name_hint for p in after["main"].params] == ["x", "w2", "w1_t"]
    check_meaning(Basic, after, {"main": "main_transform_params"})


def test_items_are_consumed_on_demand() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main_transform_params(
            params: R.Tuple(
                R.Tensor((3, 16, 3, 3), "float32"), R.Tensor((16, 16, 3, 3), "float32")
            ),
        ):
            R.func_attr({"num_input": 0})
            with R.dataflow():
                lv = params[0]
                _: R.Tuple = R.call_pure_packed(
                    "vm.builtin.tuple_reset_item",
                    params,
                    R.prim_value(T.int32(0)),
                    sinfo_args=(R.Tuple,),
                )
                lv1 = R.permute_dims(lv, [1, 0, 2, 3])
                lv2 = params[1]
                _1: R.Tuple = R.call_pure_packed(
                    "vm.builtin.tuple_reset_item",
                    params,
                    R.prim_value(T.int32(1)),
                    sinfo_args=(R.Tuple,),
                )
                gv = (lv2, lv1)
                R.output(gv)
            return gv

    with tvm.transform.PassContext(config={"relax.lift_transform_params.consume_params": True}):
        after = LiftTransformParams()(Basic)
    found, wanted = after["main_transform_params"], Expected["main_transform_params"]
    assert_structural_equal(found, wanted)


def test_what_stops_lifting() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                a = R.exp(w)
                b = R.builtin.stop_lift_params(a)
                c = R.sqrt(b)
                y = R.add(x, c)
                R.output(y)
            z = R.negative(w)
            return (y, z)

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((4,), "float32"),
            w: R.Tensor((4,), "float32"),
            a: R.Tensor((4,), "float32"),
        ):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                c = R.sqrt(a)
                y = R.add(x, c)
                R.output(y)
            z = R.negative(w)
            gv = (y, z)
            return gv

    after = LiftTransformParams()(Before)
    assert_structural_equal(after["main"], Expected["main"])
    check_meaning(Before, after, {"main": "main_transform_params"})


def test_values_without_weights_are_computed_where_they_are_read() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(a: R.Tensor([16], "int32"), b: R.Tensor([16], "int32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                offset = R.ones([16], "int32")
                a_offset = R.add(a, offset)
                b_offset = R.add(b, offset)
                gv = R.multiply(a_offset, b_offset)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(a: R.Tensor([16], "int32"), b_offset: R.Tensor([16], "int32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                offset = R.ones([16], "int32")
                a_offset = R.add(a, offset)
                gv = R.multiply(a_offset, b_offset)
                R.output(gv)
            return gv

        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor([16], "int32"))):
            R.func_attr({"num_input": 0})
            with R.dataflow():
                offset = R.ones([16], "int32")
                lv = params[0]
                b_offset = R.add(lv, offset)
                gv = (b_offset,)
                R.output(gv)
            return gv

    assert_structural_equal(LiftTransformParams()(Before), Expected)


def test_values_without_weights_stay_where_they_were_too() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([16], "int32"), w: R.Tensor([16], "int32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                offset = R.ones([16], "int32")
                w_offset = R.add(w, offset)
                gv = R.multiply(x, w_offset)
                R.output(gv)
            return gv

    after = LiftTransformParams()(Before)
    values = [str(b.value.op) for b in after["main"].body.blocks[0].bindings]
    assert values == ["Op(relax.ones)", "Op(relax.multiply)"]
    check_meaning(Before, after, {"main": "main_transform_params"})


def test_values_of_symbols_alone_stay_where_they_were_too() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, "k"), "float32")):
            R.func_attr({"num_input": 1})
            k = T.int64()
            with R.dataflow():
                offset = R.zeros(R.shape([8, k]), "float32")
                w_offset = R.add(w, offset)
                gv = R.matmul(x, w_offset)
                R.output(gv)
            return gv

    after = LiftTransformParams()(Before)
    values = [str(b.value.op) for b in after["main"].body.blocks[0].bindings]
    assert values == ["Op(relax.zeros)", "Op(relax.matmul)"]
    assert relax.analysis.well_formed(after)


def test_a_function_without_weights_gets_an_empty_transform() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(shape: R.Shape(["n"])):
            R.func_attr({"num_input": 1})
            n = T.int64()
            with R.dataflow():
                gv = R.zeros((n, n), "float32")
                R.output(gv)
            return gv

    after = LiftTransformParams()(Before)
    assert_structural_equal(after["main"], Before["main"])
    info = after["main_transform_params"].struct_info
    assert str(info) == "R.Callable((R.Tuple,), R.Tuple, True)"


def test_symbols_that_only_weights_tell_come_as_a_shape() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor([8, "n"], "float32"),
            w: R.Tensor(["n"], "float32"),
            at: R.Shape(["start"]),
        ):
            R.func_attr({"num_input": 1})
            start = T.int64()
            with R.dataflow():
                e = R.exp(w)
                rows = R.strided_slice(x, [0], [start], [start + 1], assume_inbound=True)
                gv = R.add(rows, e)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor([8, "n"], "float32"), at: R.Shape(["start"]), e: R.Tensor(["n"], "float32")
        ):
            R.func_attr({"num_input": 1})
            start = T.int64()
            with R.dataflow():
                rows = R.strided_slice(x, [0], [start], [start + 1], assume_inbound=True)
                gv = R.add(rows, e)
                R.output(gv)
            return gv

        @R.function
        def main_transform_params(
            params: R.Tuple(R.Tensor(["n"], "float32"), R.Shape(["start"])),
        ):
            R.func_attr({"num_input": 0})
            start = T.int64()
            with R.dataflow():
                lv = params[0]
                e = R.exp(lv)
                gv = (R.shape([start]), e)
                R.output(gv)
            return gv

    after = LiftTransformParams()(Before)
    assert_structural_equal(after, Expected)
    check_meaning(Before, after, {"main": "main_transform_params"})


@I.ir_module
class Two:
    @R.function
    def one(
        x: R.Tensor(["m", 4], "float32"),
        w1: R.Tensor((4, "n"), "float32"),
        w2: R.Tensor((5, 4), "float32"),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.exp(w1)
            b = R.permute_dims(w2)
            p = R.matmul(x, a)
            q = R.matmul(x, b)
            R.output(p, q)
        return (p, q)

    @R.function
    def two(
        x: R.Tensor(["m", 4], "float32"),
        v1: R.Tensor((4, "n"), "float32"),
        v2: R.Tensor((5, 4), "float32"),
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            b = R.negative(v2)
            c = R.permute_dims(b)
            a = R.exp(v1)
            p = R.matmul(x, a)
            q = R.matmul(x, c)
            R.output(p, q)
        return (p, q)

    @R.function
    def other(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
        return R.add(x, R.exp(w))


def test_each_function_has_its_own_transform() -> None:
    after = LiftTransformParams()(Two)
    names = {var.name_hint for var in after.get_global_vars()}
    assert names == {"one", "two", "other", "one_transform_params", "two_transform_params"}
    assert_structural_equal(after["other"], Two["other"])
    check_meaning(Two, after, {"one": "one_transform_params", "two": "two_transform_params"})


@pytest.mark.parametrize("shared", [True, [], ["one", "two"]])
def test_a_shared_transform_does_what_all_have_in_common(shared: object) -> None:
    @I.ir_module
    class Expected:
        @R.function
        def transform_params(
            params: R.Tuple(R.Tensor((4, "n"), "float32"), R.Tensor((5, 4), "float32")),
        ):
            R.func_attr({"num_input": 0})
            with R.dataflow():
                lv = params[0]
                a = R.exp(lv)
                lv1 = params[1]
                gv = (lv1, a)
                R.output(gv)
            return gv

        @R.function
        def one(
            x: R.Tensor(["m", 4], "float32"),
            w2: R.Tensor((5, 4), "float32"),
            a: R.Tensor((4, "n"), "float32"),
        ):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                b = R.permute_dims(w2)
                p = R.matmul(x, a)
                q = R.matmul(x, b)
                R.output(p, q)
            gv = (p, q)
            return gv

        @R.function
        def two(
            x: R.Tensor(["m", 4], "float32"),
            v2: R.Tensor((5, 4), "float32"),
            a: R.Tensor((4, "n"), "float32"),
        ):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                b = R.negative(v2)
                c = R.permute_dims(b)
                p = R.matmul(x, a)
                q = R.matmul(x, c)
                R.output(p, q)
            gv = (p, q)
            return gv

        @R.function
        def other(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            return R.add(x, R.exp(w))

    after = LiftTransformParams(shared_transform=shared)(Two)
    assert_structural_equal(after, Expected)
    check_meaning(Two, after, {"one": "transform_params", "two": "transform_params"})


def test_functions_that_are_not_named_stay() -> None:
    after = LiftTransformParams(["two"])(Two)
    assert_structural_equal(after["one"], Two["one"])
    assert len(after["two"].params) == 3
    assert "transform_params" in after


@pytest.mark.parametrize("shared", [False, True])
def test_lifting_twice_is_lifting_once(shared: bool) -> None:
    once = LiftTransformParams(shared)(Two)
    assert_structural_equal(LiftTransformParams(shared)(once), once)


def test_a_transform_that_is_there_comes_first() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                e = R.exp(w)
                gv = R.add(x, e)
                R.output(gv)
            return gv

        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor((4,), "float16"))):
            R.func_attr({"num_input": 0})
            with R.dataflow():
                lv = params[0]
                lv1 = R.astype(lv, "float32")
                gv = (lv1,)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor((4,), "float16"))):
            R.func_attr({"num_input": 0})
            with R.dataflow():
                lv = params[0]
                lv1 = R.astype(lv, "float32")
                lv2 = R.exp(lv1)
                gv = (lv2,)
                R.output(gv)
            return gv

    after = LiftTransformParams()(Before)
    assert_structural_equal(after["main_transform_params"], Expected["main_transform_params"])
    assert faults_of(after) == []
    weight = np.ones(4, "float16")
    found = run_interp(after, [(weight,)], "main_transform_params")
    assert_same((np.exp(weight.astype("float32")),), found)


def test_rejects_a_transform_that_gives_something_else() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            R.func_attr({"num_input": 1})
            return R.add(x, w)

        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor((4,), "float32"))):
            R.func_attr({"num_input": 0})
            return params[0]

    with pytest.raises(TVMError, match="a tuple of 1 weights"):
        LiftTransformParams()(Before)


def test_rejects_other_weights_in_a_shared_transform() -> None:
    @I.ir_module
    class Before:
        @R.function
        def one(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            R.func_attr({"num_input": 1})
            return R.add(x, w)

        @R.function
        def two(x: R.Tensor((4,), "float32"), w: R.Tensor((4, 1), "float32")):
            R.func_attr({"num_input": 1})
            return R.add(x, w)

    with pytest.raises(TVMError, match="other weights"):
        LiftTransformParams(shared_transform=True)(Before)


def test_rejects_unknown_names_and_counts() -> None:
    with pytest.raises(TVMError, match="legal: functions with the attribute num_input: one, two"):
        LiftTransformParams(["three"])(Two)
    with pytest.raises(TypeError, match="a bool or a list of names"):
        LiftTransformParams("one")(Two)
    wrong = Basic["main"].with_attr("num_input", 9)
    with pytest.raises(TVMError, match="9, of a function with 3 parameters"):
        LiftTransformParams()(IRModule({"main": wrong}))


def test_weights_that_all_pass_through_are_the_parameter_itself() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((3,), "float32"), v: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")
        ):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                a = R.multiply(x, v)
                b = R.multiply(a, w)
                R.output(b)
            return b

    transform = LiftTransformParams()(Before)["main_transform_params"]
    assert transform.body.body is transform.params[0]
    assert not transform.body.blocks


def test_tuples_that_only_pass_weights_through_are_resolved() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((3,), "float32"), v: R.Tensor((3,), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                t = (v,)
                u = (t,)
                one = u[0]
                a = R.multiply(x, one[0])
                R.output(a)
            return a

    transform = LiftTransformParams()(Before)["main_transform_params"]
    assert transform.body.body is transform.params[0]
    assert not transform.body.blocks


def test_without_weights_the_transform_gives_the_empty_tuple() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                y = R.exp(x)
                R.output(y)
            return y

    transform = LiftTransformParams()(Before)["main_transform_params"]
    assert isinstance(transform.body.body, relax.Tuple)
    assert not transform.body.blocks


def test_functions_that_others_use_stay() -> None:
    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            R.func_attr({"num_input": 1})
            cls = Calls
            with R.dataflow():
                v = R.exp(w)
                y = cls.inner(x, w)
                z = R.add(y, v)
                R.output(z)
            return z

        @R.function
        def inner(
            x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")
        ) -> R.Tensor((4,), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                v = R.negative(w)
                y = R.add(x, v)
                R.output(y)
            return y

    after = LiftTransformParams()(Calls)
    assert {v.name_hint for v in after.functions} == {"main", "inner", "main_transform_params"}
    assert after["inner"] is Calls["inner"]
    assert "R.exp" not in after["main"].script()
    with pytest.raises(TVMError, match="num_input: main; none that others use"):
        LiftTransformParams(shared_transform=["inner"])(Calls)


def test_local_functions_become_functions_of_the_module() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            @R.function
            def inner(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                z = R.exp(y)
                return z

            w = inner(x)
            return w

    after = LiftTransformParams()(Mod)
    assert sorted(var.name_hint for var in after.get_global_vars()) == ["main", "main_inner"]

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import assert_same
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.analysis.well_formed import faults_of
from tvm.relax.interp import Interpreter
from tvm.relax.transform import LazyTransformParams, LiftTransformParams
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def run_lazily(mod: IRModule, weights: list[Any], *args: Any) -> dict[int, Any]:
    """What the function hands out when it fetches these weights."""
    found: dict[int, Any] = {}

    def set_item(*given: Any) -> None:
        found[int(given[-2])] = given[-1]

    packed = {"get_item": lambda *given: weights[int(given[-1])], "set_item": set_item}
    assert Interpreter(mod, packed).run("main_transform_params", *args) == ()
    return found


@I.ir_module
class Before:
    @R.function
    def main_transform_params(
        params: R.Tuple(R.Tensor((3, 2), "float32"), R.Tensor((4,), "float32")),
    ):
        R.func_attr({"relax.force_pure": True})
        lv = params[1]
        lv1 = params[0]
        lv2 = R.permute_dims(lv1)
        gv = (lv, lv2)
        return gv

    @R.function
    def other(params: R.Tuple(R.Tensor((4,), "float32"))):
        return params[0]


def test_items_are_fetched_and_handed_out() -> None:
    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main_transform_params() -> R.Tuple:
            gv: R.Object = R.call_packed("get_item", R.prim_value(1), sinfo_args=(R.Object,))
            gv1 = R.match_cast(gv, R.Tensor((4,), "float32"))
            lv: R.Tensor((4,), "float32") = gv1
            _: R.Object = R.call_packed("set_item", R.prim_value(0), lv, sinfo_args=(R.Object,))
            _1: R.Tuple = R.vm.kill_object(lv)
            gv2: R.Object = R.call_packed("get_item", R.prim_value(0), sinfo_args=(R.Object,))
            gv3 = R.match_cast(gv2, R.Tensor((3, 2), "float32"))
            lv1: R.Tensor((3, 2), "float32") = gv3
            lv2 = R.permute_dims(lv1)
            _2: R.Tuple = R.vm.kill_object(lv1)
            _3: R.Object = R.call_packed("set_item", R.prim_value(1), lv2, sinfo_args=(R.Object,))
            gv4: R.Tuple = R.tuple()
            return gv4

        @R.function
        def other(params: R.Tuple(R.Tensor((4,), "float32"))):
            return params[0]

    after = LazyTransformParams()(Before)
    assert_structural_equal(after, Expected, map_free_vars=True)
    assert faults_of(after) == []
    assert LazyTransformParams().info.name == "LazyTransformParams"
    a, b = np.random.rand(3, 2).astype("float32"), np.ones(4, "float32")
    found = run_lazily(after, [a, b])
    assert_same((b, a.T), (found[0], found[1]))


def test_extra_parameters_come_first() -> None:
    loader = relax.Var("loader", relax.ObjectStructInfo())
    store = relax.Var("store", relax.ObjectStructInfo())
    after = LazyTransformParams(
        extra_get_item_params=[loader], extra_set_item_params=[store, relax.PrimValue(7)]
    )(Before)
    func = after["main_transform_params"]
    assert [p.name_hint for p in func.params] == ["loader", "store"]
    text = after.script()
    assert 'R.call_packed("get_item", loader, R.prim_value(1)' in text
    assert 'R.call_packed("set_item", store, R.prim_value(7), R.prim_value(0), lv' in text
    assert faults_of(after) == []


def test_weights_stay_parameters_without_a_getter() -> None:
    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main_transform_params(
            params: R.Tuple(R.Tensor((3, 2), "float32"), R.Tensor((4,), "float32")),
        ) -> R.Tuple:
            lv = params[1]
            _: R.Object = R.call_packed("put", R.prim_value(0), lv, sinfo_args=(R.Object,))
            lv1 = params[0]
            lv2 = R.permute_dims(lv1)
            _1: R.Object = R.call_packed("put", R.prim_value(1), lv2, sinfo_args=(R.Object,))
            gv: R.Tuple = R.tuple()
            return gv

    after = LazyTransformParams(fget_item=None, fset_item="put")(Before)
    found, wanted = after["main_transform_params"], Expected["main_transform_params"]
    assert_structural_equal(found, wanted, map_free_vars=True)


def test_a_result_that_is_read_later_is_handed_out_then() -> None:
    @I.ir_module
    class Twice:
        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor((2,), "float32"))):
            a = params[0]
            b = R.exp(a)
            c = R.negative(b)
            gv = (b, c, b)
            return gv

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main_transform_params() -> R.Tuple:
            gv: R.Object = R.call_packed("get_item", R.prim_value(0), sinfo_args=(R.Object,))
            gv1 = R.match_cast(gv, R.Tensor((2,), "float32"))
            a: R.Tensor((2,), "float32") = gv1
            b = R.exp(a)
            _: R.Tuple = R.vm.kill_object(a)
            c = R.negative(b)
            _1: R.Object = R.call_packed("set_item", R.prim_value(0), b, sinfo_args=(R.Object,))
            _2: R.Object = R.call_packed("set_item", R.prim_value(2), b, sinfo_args=(R.Object,))
            _3: R.Object = R.call_packed("set_item", R.prim_value(1), c, sinfo_args=(R.Object,))
            gv2: R.Tuple = R.tuple()
            return gv2

    after = LazyTransformParams()(Twice)
    assert_structural_equal(after, Expected, map_free_vars=True)
    assert sorted(run_lazily(after, [np.ones(2, "float32")])) == [0, 1, 2]


def test_what_branches_read_lives_until_after_them() -> None:
    @I.ir_module
    class Branches:
        @R.function
        def main_transform_params(
            params: R.Tuple(R.Tensor((), "bool"), R.Tensor((2,), "float32")),
        ):
            c = params[0]
            w = params[1]
            if c:
                y = R.exp(w)
            else:
                y = R.negative(w)
            gv = (w, y)
            return gv

    after = LazyTransformParams()(Branches)
    assert faults_of(after) == []
    w = np.ones(2, "float32")
    for cond, wanted in ((True, np.exp(w)), (False, -w)):
        found = run_lazily(after, [np.array(cond), w])
        assert_same((w, wanted), (found[0], found[1]))


def test_a_parameter_may_be_a_result() -> None:
    @I.ir_module
    class Plain:
        @R.function
        def main_transform_params(w: R.Tensor((2,), "float32")):
            e = R.exp(w)
            gv = (e, w)
            return gv

    after = LazyTransformParams(fget_item=None)(Plain)
    assert faults_of(after) == []
    w = np.ones(2, "float32")
    found = run_lazily(after, [], w)
    assert_same((np.exp(w), w), (found[0], found[1]))


def test_shapes_stay_parameters() -> None:
    @I.ir_module
    class Shapes:
        @R.function
        def main_transform_params(
            params: R.Tuple(R.Tensor((8, 2), "float32"), R.Shape(["start"])),
        ):
            start = T.int64()
            a = params[0]
            b = R.strided_slice(a, [0], [start], [start + 1], assume_inbound=True)
            gv = (b,)
            return gv

    after = LazyTransformParams()(Shapes)
    assert faults_of(after) == []
    func = after["main_transform_params"]
    assert [str(p.struct_info) for p in func.params] == ["R.Shape([start])"]


def test_what_was_lifted_is_done_lazily() -> None:
    @I.ir_module
    class Model:
        @R.function
        def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                e = R.exp(w)
                gv = R.add(x, e)
                R.output(gv)
            return gv

    after = LazyTransformParams()(LiftTransformParams()(Model))
    assert faults_of(after) == []
    w = np.ones(2, "float32")
    assert_same(np.exp(w), run_lazily(after, [w])[0])


@I.ir_module
class OwnParameters:
    @R.function
    def main_transform_params(
        x: R.Tensor((2,), "float32"), P: R.Tensor((2,), "float32"), Q: R.Tensor((2,), "float32")
    ):
        R.func_attr({"num_input": 1})
        S = R.exp(Q)
        U = R.add(S, P)
        return (U, R.const(3.0, "float32"), Q)


def test_weights_may_be_parameters_of_their_own() -> None:
    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main_transform_params(x: R.Tensor((2,), "float32")):
            R.func_attr({"num_input": 1})
            gv = R.call_packed("get_item", R.prim_value(1), sinfo_args=(R.Object,))
            Q = R.match_cast(gv, R.Tensor((2,), "float32"))
            S = R.exp(Q)
            gv1 = R.call_packed("get_item", R.prim_value(0), sinfo_args=(R.Object,))
            P = R.match_cast(gv1, R.Tensor((2,), "float32"))
            U = R.add(S, P)
            return (U, R.const(3.0, "float32"), Q)

    after = LazyTransformParams(fset_item=None)(OwnParameters)
    assert_structural_equal(after, Expected, map_free_vars=True)
    assert faults_of(after) == []


def test_constants_are_handed_out_first() -> None:
    after = LazyTransformParams()(OwnParameters)
    assert faults_of(after) == []
    first = after["main_transform_params"].body.blocks[0].bindings[0].value
    assert [str(arg) for arg in first.args] == ["R.prim_value(1)", 'R.const(3.0, "float32")']
    p, q = np.ones(2, "float32"), np.zeros(2, "float32")
    found = run_lazily(after, [p, q], p)
    assert_same((np.exp(q) + p, np.float32(3.0), q), tuple(found[i] for i in range(3)))


def test_each_branch_fetches_what_it_reads() -> None:
    @I.ir_module
    class Branches:
        @R.function
        def main_transform_params(c: R.Tensor((), "bool"), w: R.Tensor((2,), "float32")):
            if c:
                y = R.exp(w)
            else:
                y = R.negative(w)
            gv = (w, y)
            return gv

    after = LazyTransformParams()(Branches)
    assert faults_of(after) == []
    w = np.ones(2, "float32")
    for cond, wanted in ((True, np.exp(w)), (False, -w)):
        found = run_lazily(after, [np.array(cond), w])
        assert_same((w, wanted), (found[0], found[1]))


def test_rejects_other_forms() -> None:
    @I.ir_module
    class NoTuple:
        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor((2,), "float32"))):
            gv = params[0]
            return gv

    @I.ir_module
    class Whole:
        @R.function
        def main_transform_params(params: R.Tuple(R.Tensor((2,), "float32"))):
            lv = params
            lv1 = lv[0]
            gv = (lv1,)
            return gv

    with pytest.raises(TVMError, match="the result of a function"):
        LazyTransformParams()(NoTuple)
    with pytest.raises(TVMError, match="a use of params as a whole"):
        LazyTransformParams()(Whole)


def test_weights_that_are_given_back_as_they_are_go_one_by_one():
    @I.ir_module
    class Mod:
        @R.function
        def main_transform_params(
            params: R.Tuple(R.Tensor((3,), "float32"), R.Tensor((4,), "float32"))
        ):
            R.func_attr({"num_input": 0})
            return params

    text = relax.transform.LazyTransformParams()(Mod)["main_transform_params"].script()
    got = [line.strip() for line in text.splitlines() if "_item" in line]
    assert [line.partition("R.call_packed")[2][:29] for line in got] == [
        '("get_item", R.prim_value(0),',
        '("set_item", R.prim_value(0),',
        '("get_item", R.prim_value(1),',
        '("set_item", R.prim_value(1),',
    ]

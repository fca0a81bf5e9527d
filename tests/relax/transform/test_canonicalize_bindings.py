"""CanonicalizeBindings: no names for names."""

import numpy as np
import pytest

import tvm
from tests.relax.programs import RelaxPassTest
from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.relax.interp import Interpreter
from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestNames(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = x
            z = y
            a = R.add(z, y)
            b = a
            return b

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            a = R.add(x, x)
            return a


class TestResultsOfDataflow(RelaxPassTest):
    """The inner value becomes the result that renamed it."""

    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                lv1 = lv
                lv2 = R.add(lv1, lv)
                gv = lv2
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = R.add(lv, lv)
                R.output(gv)
            return gv


class TestTwoResultsOfOneValue(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv = lv
                gv1 = lv
                R.output(gv, gv1)
            r = R.add(gv, gv1)
            return r

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                gv = R.exp(x)
                R.output(gv)
            r = R.add(gv, gv)
            return r


class TestAParameterAsResult(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                gv = x
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return x


class TestItemsOfTuples(RelaxPassTest):
    """An item that is no variable is known to its readers, and bound as it was."""

    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            t = (x, (y, x))
            a = t[1]
            b = a[0]
            c = R.add(b, x)
            s = (R.const(1.0), y)
            d = s[0]
            e = R.add(d, c)
            return e

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            t = (x, (y, x))
            a = t[1]
            c = R.add(y, x)
            s = (R.const(1.0), y)
            d = s[0]
            e = R.add(R.const(1.0), c)
            return e


class TestCasts(RelaxPassTest):
    """Symbols that casts bind are the extents that they name; then the casts say nothing."""

    run = CanonicalizeBindings()
    sizes = {"n": 4}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            n, m = T.int64(), T.int64()
            y = R.match_cast(x, R.Tensor((n,), "float32"))
            z = R.match_cast(y, R.Tensor((m,), "float32"))
            w = R.exp(z)
            return w

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            n = T.int64()
            w = R.exp(x)
            return w


class TestSymbolsOfCasts(RelaxPassTest):
    """What a cast tells holds in everything that follows, and struct info follows from it."""

    run = CanonicalizeBindings()
    sizes = {"p": 3}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("p", 8), "float32"), t: R.Tuple(R.Tensor(("p", 8), "float32"))):
            p, q, r, s = T.int64(), T.int64(), T.int64(), T.int64()
            y = R.match_cast(x, R.Tensor((q, r), "float32"))
            z: R.Tensor(ndim=2, dtype="float32") = R.add(y, x)
            u = R.match_cast(t, R.Tuple(R.Tensor((s, r), "float32")))
            k = R.prim_value(q + s)
            return (z, u, k, R.shape([q * r]))

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("p", 8), "float32"), t: R.Tuple(R.Tensor(("p", 8), "float32"))):
            p = T.int64()
            z: R.Tensor((p, 8), "float32") = R.add(x, x)
            k = R.prim_value(p * 2)
            return (z, t, k, R.shape([p * 8]))


class TestSymbolsInBranches(RelaxPassTest):
    """A branch has its own knowledge; its value keeps the form that the `if` had."""

    run = CanonicalizeBindings()
    sizes = {"n": 4}

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32"),
                 y: R.Tensor((4,), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            if c:
                a = R.match_cast(y, R.Tensor((n,), "float32"))
                o = R.exp(a)
            else:
                o = R.tanh(x)
            w = R.add(o, x)
            return w

    @I.ir_module
    class Expected:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32"),
                 y: R.Tensor((4,), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            if c:
                b = R.exp(y)
                o = R.match_cast(b, R.Tensor((n,), "float32"))
            else:
                o = R.tanh(x)
            w = R.add(o, x)
            return w


def test_casts_that_disagree_are_refused():
    @I.ir_module(check_well_formed=False)
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((6,), "float32")):
            q = T.int64()
            a = R.match_cast(x, R.Tensor((q,), "float32"))
            b = R.match_cast(y, R.Tensor((q,), "float32"))
            return (a, b)

    with pytest.raises(ValueError, match=r"MatchCast statements must be consistent\. .*variable a"):
        CanonicalizeBindings()(Mod)


class TestATupleOfAllItems(RelaxPassTest):
    """It is the tuple that the items are of; one of some of them, or in another order, is not."""

    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            with R.dataflow():
                a = t[0]
                b = t[1]
                o = (a, b)
                p = (b, a)
                q = (o, p, (a,))
                R.output(q)
            return q

    @I.ir_module
    class Expected:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            with R.dataflow():
                a = t[0]
                b = t[1]
                p = (b, a)
                q = (t, p, (a,))
                R.output(q)
            return q


class TestResultsNobodyReads(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.tanh(a)
                R.output(a, b)
            return a

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.tanh(a)
                R.output(a)
            return a


class TestUnreadResults(RelaxPassTest):
    """Results of a dataflow block that only the block reads are inner values."""

    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                gv = R.exp(x)
                gv1 = R.add(gv, gv)
                R.output(gv, gv1)
            return gv1

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                gv1 = R.add(lv, lv)
                R.output(gv1)
            return gv1


class TestBranches(RelaxPassTest):
    run = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            y = x
            if c:
                a = y
                b = R.exp(a)
                r = b
            else:
                r = R.negative(y)
            return r

    def test_no_names_are_left(self):
        (binding,) = self._after()["main"].body.blocks[0].bindings
        for branch in (binding.value.true_branch, binding.value.false_branch):
            assert sum(len(block.bindings) for block in branch.blocks) == 1


def test_a_wider_promise_stays():
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    y = relax.Var("y", relax.TensorStructInfo(dtype="float32", ndim=1))
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, x)])], y)
    func = relax.Function([x], relax.BlockBuilder().normalize(body), y.struct_info)
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    tvm.ir.assert_structural_equal(CanonicalizeBindings()(mod), mod)


def test_canonical_functions_stay_the_same():
    mod = TestResultsOfDataflow.Expected
    assert CanonicalizeBindings()(mod)["main"] is mod["main"]


def test_inner_values_are_not_named_outside():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                t = (a, b)
                u = t[0]
                v = R.add(u, b)
                R.output(t, v)
            if c:
                r = R.add(t[0], v)
            else:
                r = t[1]
            return (r, t[0])

    after = CanonicalizeBindings()(Before)
    assert relax.analysis.well_formed(after)
    inner = after["main"].body.blocks[0].bindings
    assert [type(one.var) is relax.Var for one in inner] == [True, False, True, True]
    run = [Interpreter(mod).run("main", np.arange(4.0, dtype="float32"), np.array(True))
           for mod in (Before, after)]  # fmt: skip
    for before, now in zip(*run):
        np.testing.assert_array_equal(before, now)


def test_inner_values_within_nested_tuples_stay_in_their_block():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                t = (x, (a, w))
                R.output(t)
            i = t[1]
            k = R.add(i[0], i[1])
            return k

    after = CanonicalizeBindings()(Mod)
    assert relax.analysis.well_formed(after)
    assert "t[1]" in after["main"].script()


def test_a_result_that_takes_the_place_of_an_item_stays_a_result():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                t = (x, (a, w))
                R.output(a, t)
            i = t[1]
            k = R.add(i[0], i[1])
            return k

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                t = (x, (a, w))
                R.output(a, t)
            i = t[1]
            k = R.add(a, w)
            return k

    after = CanonicalizeBindings()(Mod)
    assert relax.analysis.well_formed(after)
    assert_structural_equal(after, Expected)


def test_fields_of_inner_tuples_become_results():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                t = (x, (a, w))
                R.output(t)
            i = t[1]
            k = R.add(i[0], i[1])
            return k

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                t = (x, (a, w))
                R.output(a, t)
            i = t[1]
            k = R.add(a, w)
            return k

    assert_structural_equal(CanonicalizeBindings()(Mod), Expected)


def test_inner_values_take_the_names_of_items_outside():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                q = (a, b)
                R.output(q)
            return (q[0], q[1])

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                q = (a, b)
                R.output(a, b)
            return (a, b)

    after = CanonicalizeBindings()(Mod)
    assert relax.analysis.well_formed(after)
    assert_structural_equal(after, Expected)


def test_constants_stand_at_their_uses():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            c = R.const(2.0, "float32")
            d = c
            with R.dataflow():
                e = R.const(1.0, "float32")
                f = R.const(3.0, "float32")
                y = R.add(R.add(R.add(x, d), e), f)
                R.output(y, f)
            return (y, d, f)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            c = R.const(2.0, "float32")
            with R.dataflow():
                e = R.const(1.0, "float32")
                f = R.const(3.0, "float32")
                y = R.add(R.add(R.add(x, R.const(2.0)), R.const(1.0)), f)
                R.output(y, f)
            return (y, R.const(2.0, "float32"), f)

    assert_structural_equal(CanonicalizeBindings()(Mod), Expected)


def test_a_tuple_of_the_items_of_a_parameter_is_the_parameter():
    @I.ir_module
    class Mod:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = t[0]
            b = t[1]
            u = (a, b)
            s = R.split(a, 2)
            c = s[0]
            d = s[1]
            v = (c, d)
            return (u, v)

    @I.ir_module
    class Expected:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = t[0]
            b = t[1]
            s = R.split(a, 2)
            c = s[0]
            d = s[1]
            v = (c, d)
            return (t, v)

    assert_structural_equal(CanonicalizeBindings()(Mod), Expected)


def test_a_tuple_of_results_is_not_the_inner_tuple_that_they_came_from():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                t = R.split(x, 2, axis=0)
                a = t[0]
                b = t[1]
                R.output(a, b)
            return (a, b)

    after = CanonicalizeBindings()(Mod)
    assert relax.analysis.well_formed(after)
    assert_structural_equal(after, Mod)


def test_an_item_lives_on_where_its_field_is_killed():
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            a = R.add(x, x)
            t = (a,)
            _: R.Tuple() = R.vm.kill_object(a)
            b = t[0]
            return R.add(b, b)

    assert_structural_equal(CanonicalizeBindings()(Mod), Mod)

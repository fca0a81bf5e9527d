"""Rewriters that are written as two functions."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.relax.dpl import PatternMatchingRewriter
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure

equal = tvm.ir.assert_structural_equal


@R.rewriter
class FastAdd:
    @R.function
    def pattern(A: R.Tensor([16], "float32"), B: R.Tensor([16], "float32")):
        C = R.add(A, B)
        return C

    @R.function
    def replacement(A: R.Tensor([16], "float32"), B: R.Tensor([16], "float32")):
        C = R.call_pure_packed("fast_add", A, B, sinfo_args=R.Tensor([16], "float32"))
        return C


def test_replaces_what_the_pattern_computes() -> None:
    @R.function(private=True)
    def before(x: R.Tensor([32], "float32")):
        parts = R.split(x, 2)
        C = R.add(parts[0], parts[1])
        return C

    @R.function(private=True)
    def expected(x: R.Tensor([32], "float32")):
        parts = R.split(x, 2)
        A = parts[0]
        B = parts[1]
        C = R.call_pure_packed("fast_add", A, B, sinfo_args=R.Tensor([16], "float32"))
        return C

    equal(FastAdd(before), expected)


def test_keeps_other_shapes() -> None:
    @R.function(private=True)
    def before(x: R.Tensor([32], "float32")):
        C = R.add(x, x)
        return C

    assert FastAdd(before) is before


def test_rewrites_modules() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([16], "float32")):
            return R.add(x, x)

        @R.function
        def other(x: R.Tensor([16], "float32")):
            return R.multiply(x, x)

    after = FastAdd(Before)
    assert "fast_add" in str(after["main"])
    assert after["other"].same_as(Before["other"])


def test_a_module_is_a_rewriter() -> None:
    @I.ir_module
    class Module:
        @R.function
        def pattern(A: R.Tensor([16], "float32")):
            return R.add(A, A)

        @R.function
        def replacement(A: R.Tensor([16], "float32")):
            return R.multiply(A, R.const(2.0, "float32"))

    @R.function(private=True)
    def before(x: R.Tensor([16], "float32"), y: R.Tensor([16], "float32")):
        with R.dataflow():
            a = R.add(x, x)
            b = R.add(a, y)
            R.output(b)
        return b

    @R.function(private=True)
    def expected(x: R.Tensor([16], "float32"), y: R.Tensor([16], "float32")):
        a = R.multiply(x, R.const(2.0, "float32"))
        with R.dataflow():
            b = R.add(a, y)
            R.output(b)
        return b

    equal(PatternMatchingRewriter.from_module(Module)(before), expected)


def test_several_steps_on_both_sides() -> None:
    @R.rewriter
    class Rewriter:
        @R.function
        def pattern(A: R.Tensor([16], "float32"), B: R.Tensor([16], "float32")):
            C = R.add(A, B)
            D = R.nn.relu(C)
            return D

        @R.function
        def replacement(A: R.Tensor([16], "float32"), B: R.Tensor([16], "float32")):
            C = R.maximum(A, B)
            D = R.tanh(C)
            return D

    @R.function(private=True)
    def before(x: R.Tensor([16], "float32"), y: R.Tensor([16], "float32")):
        with R.dataflow():
            s = R.add(x, y)
            r = R.nn.relu(s)
            R.output(r)
        return r

    @R.function(private=True)
    def expected(x: R.Tensor([16], "float32"), y: R.Tensor([16], "float32")):
        s = R.maximum(x, y)
        r = R.tanh(s)
        return r

    equal(Rewriter(before), expected)


@R.rewriter
class TwoProducts:
    @R.function
    def pattern(
        a: R.Tensor([16, 16], "float32"),
        b: R.Tensor([16, 16], "float32"),
        x: R.Tensor([16], "float32"),
    ):
        one = R.matmul(a, x)
        two = R.matmul(b, x)
        both = (one, two)
        return both

    @R.function
    def replacement(
        a: R.Tensor([16, 16], "float32"),
        b: R.Tensor([16, 16], "float32"),
        x: R.Tensor([16], "float32"),
    ):
        whole = R.concat([a, b])
        product = R.matmul(whole, x)
        both = R.split(product, 2)
        return both


def test_a_tuple_in_the_program() -> None:
    @R.function(private=True)
    def before(
        x: R.Tensor([16], "float32"),
        A: R.Tensor([16, 16], "float32"),
        B: R.Tensor([16, 16], "float32"),
    ):
        one = R.matmul(A, x)
        two = R.matmul(B, x)
        both = (one, two)
        out = R.add(both[0], both[1])
        return out

    @R.function(private=True)
    def expected(
        x: R.Tensor([16], "float32"),
        A: R.Tensor([16, 16], "float32"),
        B: R.Tensor([16, 16], "float32"),
    ):
        whole = R.concat([A, B])
        product = R.matmul(whole, x)
        both = R.split(product, 2)
        out = R.add(both[0], both[1])
        return out

    equal(TwoProducts(before), expected)


def test_a_tuple_that_nobody_made() -> None:
    @R.function(private=True)
    def before(
        x: R.Tensor([16], "float32"),
        A: R.Tensor([16, 16], "float32"),
        B: R.Tensor([16, 16], "float32"),
    ):
        one = R.matmul(A, x)
        two = R.matmul(B, x)
        out = R.add(one, two)
        return out

    @R.function(private=True)
    def expected(
        x: R.Tensor([16], "float32"),
        A: R.Tensor([16, 16], "float32"),
        B: R.Tensor([16, 16], "float32"),
    ):
        whole = R.concat([A, B])
        product = R.matmul(whole, x)
        both = R.split(product, 2)
        one = both[0]
        two = both[1]
        out = R.add(one, two)
        return out

    equal(TwoProducts(before), expected)


def test_values_that_need_each_other_are_no_tuple() -> None:
    @R.function(private=True)
    def before(
        x: R.Tensor([16], "float32"),
        A: R.Tensor([16, 16], "float32"),
        B: R.Tensor([16, 16], "float32"),
    ):
        one = R.matmul(A, x)
        two = R.matmul(B, one)
        return two

    assert TwoProducts(before) is before


def test_symbols_of_the_pattern_stand_for_any_extent() -> None:
    @R.rewriter
    class Twice:
        @R.function
        def pattern(A: R.Tensor(["n", "m"], "float32")):
            n, m = T.int64(), T.int64()
            return R.add(A, A)

        @R.function
        def replacement(A: R.Tensor(["n", "m"], "float32")):
            n, m = T.int64(), T.int64()
            return R.add(A, R.zeros(R.shape([n, m]), "float32"))

    @R.function(private=True)
    def before(x: R.Tensor([4, 8], "float32"), y: R.Tensor([4], "float32")):
        a = R.add(x, x)
        b = R.add(y, y)
        return (a, b)

    after = Twice(before)
    assert "R.zeros(R.shape([4, 8])" in str(after)
    assert "R.add(y, y)" in str(after)


def test_left_rewriter_comes_first_and_rules_run_to_the_end() -> None:
    @R.rewriter
    class AddToMultiply:
        @R.function
        def pattern(A: R.Tensor([16], "float32")):
            return R.add(A, A)

        @R.function
        def replacement(A: R.Tensor([16], "float32")):
            return R.multiply(A, R.const(2.0, "float32"))

    @R.rewriter
    class MultiplyToTanh:
        @R.function
        def pattern(A: R.Tensor([16], "float32")):
            return R.multiply(A, R.const(2.0, "float32"))

        @R.function
        def replacement(A: R.Tensor([16], "float32")):
            return R.tanh(A)

    @R.rewriter
    class AddToExp:
        @R.function
        def pattern(A: R.Tensor([16], "float32")):
            return R.add(A, A)

        @R.function
        def replacement(A: R.Tensor([16], "float32")):
            return R.exp(A)

    @R.function(private=True)
    def before(x: R.Tensor([16], "float32")):
        return R.add(x, x)

    assert "R.tanh(x)" in str((AddToMultiply | MultiplyToTanh)(before))
    assert "R.multiply" in str((AddToMultiply | AddToExp)(before))
    assert "R.exp" in str((AddToExp | AddToMultiply)(before))


@R.rewriter
class WithHelper:
    @R.function
    def pattern(A: R.Tensor([16], "float32")):
        return R.add(A, A)

    @R.function
    def replacement(A: R.Tensor([16], "float32")):
        return WithHelper.helper(A)

    @R.function(private=True)
    def helper(A: R.Tensor([16], "float32")) -> R.Tensor([16], "float32"):
        return R.multiply(A, R.const(2.0, "float32"))


def test_private_helpers_come_along_where_they_are_used() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([16], "float32")):
            return R.add(x, x)

    @I.ir_module
    class Without:
        @R.function
        def main(x: R.Tensor([16], "float32")):
            return R.exp(x)

    after = WithHelper(Before)
    assert sorted(var.name_hint for var in after.functions) == ["helper", "main"]
    assert relax.analysis.well_formed(after)
    assert len(WithHelper(Without).functions) == 1


def test_rejects_a_missing_function() -> None:
    with pytest.raises(KeyError, match="pattern"):

        @R.rewriter
        class Rewriter:
            @R.function
            def replacement():
                return R.tuple()


def test_rejects_a_function_of_another_kind() -> None:
    with pytest.raises(TypeError, match="'pattern' function was of type PrimFunc"):

        @R.rewriter
        class Rewriter:
            @T.prim_func
            def pattern():
                T.evaluate(0)

            @R.function
            def replacement():
                return R.tuple()


def test_rejects_public_helpers() -> None:
    with pytest.raises(ValueError, match="no publicly-exposed functions"):

        @R.rewriter
        class Rewriter:
            @R.function
            def pattern(A: R.Tensor([16], "float32")):
                return R.add(A, A)

            @R.function
            def replacement(A: R.Tensor([16], "float32")):
                return R.multiply(A, A)

            @R.function
            def helper(A: R.Tensor([16], "float32")):
                return A


def test_rejects_other_signatures() -> None:
    with pytest.raises(ValueError, match="must have the same signature"):

        @R.rewriter
        class Rewriter:
            @R.function
            def pattern(A: R.Tensor([16], "float32")):
                return R.add(A, A)

            @R.function
            def replacement(A: R.Tensor([32], "float32")):
                return R.multiply(A, A)


def test_rejects_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="applied to a Relax function or an IRModule"):
        FastAdd(3)
    with pytest.raises(TVMError, match="Cannot convert Relax expression of type If"):

        @R.rewriter
        class Rewriter:
            @R.function
            def pattern(c: R.Tensor([], "bool"), A: R.Tensor([16], "float32")):
                if c:
                    B = R.add(A, A)
                else:
                    B = R.exp(A)
                return B

            @R.function
            def replacement(c: R.Tensor([], "bool"), A: R.Tensor([16], "float32")):
                return R.exp(A)


def test_functions_of_one_name_are_kept_apart() -> None:
    @R.rewriter
    class First:
        @R.function
        def pattern(x: R.Tensor([4], "float32")):
            return R.exp(x)

        @R.function
        def replacement(x: R.Tensor([4], "float32")) -> R.Tensor([4], "float32"):
            return First.helper(x)

        @R.function(private=True)
        def helper(x: R.Tensor([4], "float32")) -> R.Tensor([4], "float32"):
            return R.negative(x)

    @R.rewriter
    class Second:
        @R.function
        def pattern(x: R.Tensor([4], "float32")):
            return R.sin(x)

        @R.function
        def replacement(x: R.Tensor([4], "float32")) -> R.Tensor([4], "float32"):
            return Second.helper(x)

        @R.function(private=True)
        def helper(x: R.Tensor([4], "float32")) -> R.Tensor([4], "float32"):
            return R.cos(x)

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([4], "float32")):
            y = R.exp(x)
            z = R.sin(y)
            return z

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor([4], "float32")):
            y = Expected.helper(x)
            z = Expected.helper_1(y)
            return z

        @R.function(private=True)
        def helper(x: R.Tensor([4], "float32")) -> R.Tensor([4], "float32"):
            return R.negative(x)

        @R.function(private=True)
        def helper_1(x: R.Tensor([4], "float32")) -> R.Tensor([4], "float32"):
            return R.cos(x)

    equal((First | Second)(Before), Expected)


def test_options_that_are_left_out() -> None:
    """The axes of a transposition and of a sum are None in both, and are compared as such."""

    @R.rewriter
    class Swap:
        @R.function
        def pattern(x: R.Tensor([4, 4], "float32"), y: R.Tensor([4, 4], "float32")):
            return R.sum(R.matmul(R.permute_dims(x), R.permute_dims(y)))

        @R.function
        def replacement(x: R.Tensor([4, 4], "float32"), y: R.Tensor([4, 4], "float32")):
            return R.sum(R.permute_dims(R.matmul(y, x)))

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([4, 4], "float32"), y: R.Tensor([4, 4], "float32")):
            a = R.permute_dims(x)
            b = R.permute_dims(y)
            c = R.matmul(a, b)
            d = R.sum(c)
            return d

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor([4, 4], "float32"), y: R.Tensor([4, 4], "float32")):
            a = R.matmul(y, x)
            b = R.permute_dims(a)
            d = R.sum(b)
            return d

    equal(Swap(Before), Expected)

"""VMShapeLower: the heap of sizes, checks of arguments, shapes read from the heap."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.relax.programs import assert_same, run_interp
from tvm import relax
from tvm.error import ShapeError, TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.transform import VMShapeLower
from tvm.relax.transform.vm_shape_lower import is_lowered
from tvm.runtime.vm_builtin import MakeShapeCode as MK
from tvm.runtime.vm_builtin import MatchShapeCode as MS
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def check(before: IRModule, expected: IRModule) -> None:
    after = VMShapeLower(emit_err_ctx=False)(before)
    tvm.ir.assert_structural_equal(after, expected)
    assert relax.analysis.well_formed(after)


def test_known_shapes_need_no_heap() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Shape([1, 2]), f: R.Callable([R.Object], R.Object)):
            R.func_attr({"relax.force_pure": True})
            return x

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Shape([1, 2]), f: R.Callable([R.Object], R.Object)):
            R.func_attr({"relax.force_pure": True})
            shape_heap = R.null_value()
            _ = R.call_packed("vm.builtin.check_shape_info", x, 2, "", sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.check_func_info", f, "", sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.match_shape", x, shape_heap, 2,
                              MS.ASSERT_EQUAL_TO_IMM, 1, MS.ASSERT_EQUAL_TO_IMM, 2, "",
                              sinfo_args=[R.Tuple()])
            return x

    check(Before, Expected)


@I.ir_module
class Compute:
    @R.function
    def main(x: R.Tensor(["n", "m"], "float32"), y: R.Tensor(ndim=3, dtype=None)
             ) -> R.Shape(ndim=3):
        R.func_attr({"relax.force_pure": True})
        m = T.int64()
        k = T.int64()
        z = R.match_cast(y, R.Tensor([k, m, k + 1], dtype=None))
        return R.shape([k + 1, m, 2])


def test_expressions_are_computed_and_checked() -> None:
    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def shape_func(H: T.Buffer(T.int64(4), "int64")):
            T.func_attr({"tir.is_host_func": True})
            H[T.int64(3)] = H[T.int64(2)] + T.int64(1)

        @R.function
        def main(x: R.Tensor(["n", "m"], "float32"), y: R.Tensor(ndim=3, dtype=None)
                 ) -> R.Shape(ndim=3):
            R.func_attr({"relax.force_pure": True})
            m = T.int64()
            k = T.int64()
            cls = Expected
            shape_heap = R.call_builtin_with_ctx(
                "vm.builtin.alloc_shape_heap", [R.prim_value(4)],
                sinfo_args=[R.Tensor(dtype="int64", ndim=1)])
            _ = R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), "",
                              sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.check_tensor_info", y, 3, R.dtype(""), "",
                              sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.match_shape", x, shape_heap, 2, MS.STORE_TO_HEAP, 0,
                              MS.STORE_TO_HEAP, 1, "", sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.match_shape", y, shape_heap, 3, MS.STORE_TO_HEAP, 2,
                              MS.ASSERT_EQUAL_TO_LOAD, 1, MS.NO_OP, 0, "",
                              sinfo_args=[R.Tuple()])
            _ = cls.shape_func(shape_heap)
            _ = R.call_packed("vm.builtin.match_shape", y, shape_heap, 3,
                              MS.ASSERT_EQUAL_TO_LOAD, 2, MS.ASSERT_EQUAL_TO_LOAD, 1,
                              MS.ASSERT_EQUAL_TO_LOAD, 3, "", sinfo_args=[R.Tuple()])
            z = R.match_cast(y, R.Tensor([k, m, k + 1], dtype=None))
            s = R.call_packed("vm.builtin.make_shape", shape_heap, 3, MK.LOAD_SHAPE, 3,
                              MK.LOAD_SHAPE, 1, MK.USE_IMM, 2, sinfo_args=[R.Shape(ndim=3)])
            return s

    check(Compute, Expected)


def test_the_meaning_stays() -> None:
    args = [np.zeros((2, 5), "float32"), np.zeros((3, 5, 4), "int8")]
    lowered = VMShapeLower()(Compute)
    assert_same(run_interp(Compute, args), run_interp(lowered, args))
    assert is_lowered(lowered["main"])
    assert not is_lowered(Compute["main"])
    with pytest.raises(ShapeError):
        run_interp(lowered, [args[0], np.zeros((3, 5, 3), "int8")])


def test_tuples_are_taken_apart() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tuple(R.Tensor(["n", "m"], "float32"),
                            R.Tuple(R.Shape, R.Tensor(["n", "k"], "int32")))):
            R.func_attr({"relax.force_pure": True})
            return x

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tuple(R.Tensor(["n", "m"], "float32"),
                            R.Tuple(R.Shape, R.Tensor(["n", "k"], "int32")))):
            R.func_attr({"relax.force_pure": True})
            shape_heap = R.call_builtin_with_ctx(
                "vm.builtin.alloc_shape_heap", [R.prim_value(3)],
                sinfo_args=[R.Tensor(dtype="int64", ndim=1)])
            _ = R.call_packed("vm.builtin.check_tuple_info", x, 2, "", sinfo_args=[R.Tuple()])
            t0 = x[0]
            _ = R.call_packed("vm.builtin.check_tensor_info", t0, 2, R.dtype("float32"), "",
                              sinfo_args=[R.Tuple()])
            t1 = x[1]
            _ = R.call_packed("vm.builtin.check_tuple_info", t1, 2, "", sinfo_args=[R.Tuple()])
            t10 = t1[0]
            _ = R.call_packed("vm.builtin.check_shape_info", t10, -1, "",
                              sinfo_args=[R.Tuple()])
            t11 = t1[1]
            _ = R.call_packed("vm.builtin.check_tensor_info", t11, 2, R.dtype("int32"), "",
                              sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.match_shape", t0, shape_heap, 2, MS.STORE_TO_HEAP, 0,
                              MS.STORE_TO_HEAP, 1, "", sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.match_shape", t11, shape_heap, 2,
                              MS.ASSERT_EQUAL_TO_LOAD, 0, MS.STORE_TO_HEAP, 2, "",
                              sinfo_args=[R.Tuple()])
            return x

    check(Before, Expected)


def test_what_is_returned_is_checked() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(["n", "m"], "float32"), y: R.Object
                 ) -> R.Tuple(R.Tensor(["n", "m"], "float32")):
            R.func_attr({"relax.force_pure": True})
            return y

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(["n", "m"], "float32"), y: R.Object
                 ) -> R.Tuple(R.Tensor(["n", "m"], "float32")):
            R.func_attr({"relax.force_pure": True})
            shape_heap = R.call_builtin_with_ctx(
                "vm.builtin.alloc_shape_heap", [R.prim_value(2)],
                sinfo_args=[R.Tensor(dtype="int64", ndim=1)])
            _ = R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), "",
                              sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.match_shape", x, shape_heap, 2, MS.STORE_TO_HEAP, 0,
                              MS.STORE_TO_HEAP, 1, "", sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.check_tuple_info", y, 1, "", sinfo_args=[R.Tuple()])
            y1 = R.call_packed("vm.builtin.tuple_getitem", y, 0, sinfo_args=[R.Object])
            _ = R.call_packed("vm.builtin.check_tensor_info", y1, 2, R.dtype("float32"), "",
                              sinfo_args=[R.Tuple()])
            _ = R.call_packed("vm.builtin.match_shape", y1, shape_heap, 2,
                              MS.ASSERT_EQUAL_TO_LOAD, 0, MS.ASSERT_EQUAL_TO_LOAD, 1, "",
                              sinfo_args=[R.Tuple()])
            return y

    check(Before, Expected)


def test_weights_of_known_shape_are_not_matched() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2,), "float32"), w: R.Tensor((3,), "float32"),
                 v: R.Tensor(("n",), "float32")):
            R.func_attr({"relax.force_pure": True, "num_input": 1})
            return x

    text = str(VMShapeLower()(Before))
    assert text.count("vm.builtin.check_tensor_info") == 2  # w is trusted, v tells a size
    assert text.count("vm.builtin.match_shape") == 2


def test_items_of_weights_are_taken_where_they_tell_sizes() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2,), "float32"),
                 params: R.Tuple(R.Tensor((3,), "float32"), R.Tensor(("n",), "float32"))):
            R.func_attr({"relax.force_pure": True, "num_input": 1})
            return x

    text = str(VMShapeLower()(Before))
    assert "params[0]" not in text
    assert text.count("params[1]") == 1
    assert text.count("vm.builtin.check_tensor_info") == 2


def test_variables_are_what_the_calls_say() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tuple(R.Shape(ndim=1), R.Prim("int64")):
            R.func_attr({"relax.force_pure": True})
            n = T.int64()
            s = R.shape([n])
            k = R.prim_value(n)
            return (s, k)

    text = str(VMShapeLower()(Before))
    assert "s: R.Shape(ndim=1) = R.call_packed(" in text
    assert "sinfo_args=(R.Prim(value=n),)" in text


def test_numbers_are_matched_and_made() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(_n: R.Prim(value="n"), m: R.Prim("int64")) -> R.Prim("int64"):
            R.func_attr({"relax.force_pure": True})
            n = T.int64()
            return R.prim_value(n)

    lowered = VMShapeLower()(Before)
    names = [c for c in ("check_prim_value_info", "match_prim_value", "make_prim_value")
             if f"vm.builtin.{c}" in str(lowered)]  # fmt: skip
    assert len(names) == 3
    assert run_interp(lowered, [5, 6]) == 5


def test_a_size_that_nothing_tells() -> None:
    n = tvm.tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n + 1], "float32"))
    func = relax.Function([x], relax.SeqExpr([], x), relax.TensorStructInfo([n + 1], "float32"))
    with pytest.raises(TVMError, match="a size is not defined"):
        VMShapeLower()(IRModule({"main": func}))


def test_a_size_that_is_computed_of_numbers_alone() -> None:
    """Scales of extents that turn out to be numbers leave such sizes."""
    half = tvm.tir.Cast("float32", tvm.tir.const(3, "int64")) * tvm.tir.const(1.5, "float32")
    size = tvm.tir.Cast("int64", tvm.tir.floor(half))
    x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x], {"relax.force_pure": True}):
        bb.emit_func_output(bb.emit(relax.ShapeExpr([size, tvm.tir.const(7, "int64")])))
    found = run_interp(VMShapeLower()(bb.get()), [np.zeros(2, "float32")])
    assert tuple(int(n) for n in found) == (4, 7)


def test_contexts_name_function_and_parameter() -> None:
    text = str(VMShapeLower()(Compute))
    assert "ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, m)" in text
    assert "loc=return" not in text


def test_results_of_calls_that_read_the_heap_are_known() -> None:
    @I.ir_module
    class Sizes:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            n = T.int64()
            y = R.zeros(R.shape([n + 1]), "float32")
            z = R.concat((x, y))
            s = R.shape_of(z)
            return (z, s)

    watch = relax.ir.instrument.WellFormedInstrument()
    for target in ("llvm", "cuda"):
        with tvm.target.Target(target), tvm.transform.PassContext(instruments=[watch]):
            lowered = relax.get_pipeline("default")(Sizes)
        assert is_lowered(lowered["main"])


def test_what_holds_a_shape_is_no_more_than_the_shape() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
            R.func_attr({"relax.force_pure": True})
            n = T.int64()
            s = R.shape([n * 2])
            alias = s
            pair = (alias, x)
            field = pair[0]
            if c:
                chosen = field
            else:
                chosen = s
            return (chosen, pair)

    after = VMShapeLower(emit_err_ctx=False)(Before)
    infos = {
        binding.var.name_hint: binding.var.struct_info
        for block in after["main"].body.blocks
        for binding in block.bindings
    }
    shape = relax.ShapeStructInfo(ndim=1)
    for name in ("s", "alias", "field", "chosen"):
        assert_structural_equal(infos[name], shape)
    assert_structural_equal(infos["pair"].fields[0], shape)
    text = after.script()
    assert_structural_equal(tvm.script.from_source(text), after)
    # of x, and of the two shapes of the result; a scalar has none
    assert text.count('R.call_packed("vm.builtin.match_shape"') == 3


def test_local_functions_are_lifted_before() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            @R.function
            def inner(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                b = R.exp(a)
                return b

            y = inner(x)
            return y

    with pytest.raises(TVMError, match="local function 'inner'"):
        relax.transform.VMShapeLower()(Mod)
    relax.transform.VMShapeLower()(relax.transform.LambdaLift()(Mod))

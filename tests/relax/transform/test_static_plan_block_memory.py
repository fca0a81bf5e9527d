"""StaticPlanBlockMemory: tensors of a block share storage."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.transform import StaticPlanBlockMemory
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def _same(before: Any, expected: Any) -> None:
    after = StaticPlanBlockMemory()(before)
    tvm.ir.assert_structural_equal(after, expected)
    assert relax.analysis.well_formed(after)


def _storages(mod: IRModule) -> list[str]:
    """The sizes that storage is made with, in order."""
    bindings = [b for block in mod["main"].body.blocks for b in block.bindings]
    calls = [b.value for b in bindings if isinstance(b.value, relax.Call)]
    name = "relax.memory.alloc_storage"
    return [
        str(getattr(c.args[0].values[0], "value", c.args[0].values[0]))
        for c in calls
        if isinstance(c.op, tvm.ir.Op) and c.op.name == name
    ]


def test_storage_is_handed_on_and_grows() -> None:
    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def kernel(A: T.handle, B: T.handle):
            T.evaluate(0)

        @R.function
        def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((10,), "float32"):
            R.func_attr({"relax.force_pure": True})
            cls = Before
            alloc = R.builtin.alloc_tensor(R.shape([2, 4]), "float32", 0)
            _ = cls.kernel(x, alloc)
            lv = alloc
            lv1 = R.reshape(lv, (8,))
            alloc1 = R.builtin.alloc_tensor(R.shape([8]), "float32", 0)
            _1 = cls.kernel(lv1, alloc1)
            lv2 = alloc1
            alloc2 = R.builtin.alloc_tensor(R.shape([8]), "float32", 0)
            _2 = cls.kernel(lv2, alloc2)
            lv3 = alloc2
            alloc3 = R.builtin.alloc_tensor(R.shape([10]), "float32", 0)
            _3 = cls.kernel(lv3, alloc3)
            lv4 = alloc3
            alloc4 = R.builtin.alloc_tensor(R.shape([10]), "float32", 0)
            _4 = cls.kernel(lv4, alloc4)
            gv = alloc4
            return gv

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def kernel(A: T.handle, B: T.handle):
            T.evaluate(0)

        @R.function
        def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((10,), "float32"):
            R.func_attr({"relax.force_pure": True})
            cls = Expected
            storage = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
            alloc = R.memory.alloc_tensor(storage, 0, R.shape([2, 4]), "float32")
            _ = cls.kernel(x, alloc)
            lv = alloc
            lv1 = R.reshape(lv, (8,))
            storage1 = R.memory.alloc_storage(R.shape([40]), 0, "global", "float32")
            alloc1 = R.memory.alloc_tensor(storage1, 0, R.shape([8]), "float32")
            _1 = cls.kernel(lv1, alloc1)
            lv2 = alloc1
            alloc2 = R.memory.alloc_tensor(storage, 0, R.shape([8]), "float32")
            _2 = cls.kernel(lv2, alloc2)
            lv3 = alloc2
            alloc3 = R.memory.alloc_tensor(storage1, 0, R.shape([10]), "float32")
            _3 = cls.kernel(lv3, alloc3)
            lv4 = alloc3
            alloc4 = R.builtin.alloc_tensor(R.shape([10]), "float32", 0)
            _4 = cls.kernel(lv4, alloc4)
            gv = alloc4
            return gv

    _same(Before, Expected)


def test_types_do_not_share() -> None:
    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def kernel(A: T.handle, B: T.handle):
            T.evaluate(0)

        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "int32")):
            R.func_attr({"relax.force_pure": True})
            cls = Before
            alloc = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            _ = cls.kernel(x, alloc)
            alloc1 = R.builtin.alloc_tensor(R.shape([4]), "int32", 0)
            _1 = cls.kernel(y, alloc1)
            return x

    assert _storages(StaticPlanBlockMemory()(Before)) == ["16", "16"]


def test_much_larger_tensors_do_not_share() -> None:
    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def kernel(A: T.handle, B: T.handle):
            T.evaluate(0)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            R.func_attr({"relax.force_pure": True})
            cls = Before
            a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            _ = cls.kernel(x, a)
            b = R.builtin.alloc_tensor(R.shape([400]), "float32", 0)
            _1 = cls.kernel(x, b)
            c = R.builtin.alloc_tensor(R.shape([8]), "float32", 0)
            _2 = cls.kernel(x, c)
            return x

    assert _storages(StaticPlanBlockMemory()(Before)) == ["32", "1600"]


def test_what_others_see_keeps_its_own_memory() -> None:
    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def kernel(A: T.handle, B: T.handle):
            T.evaluate(0)

        @R.function
        def other(t: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return t

        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")
                 ) -> R.Tensor((4,), "float32"):
            cls = Before
            a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            _ = cls.kernel(x, a)
            b = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            _1 = cls.kernel(x, b)
            s = cls.other(b)
            if c:
                r = a
            else:
                r = s
            t = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            _2 = cls.kernel(r, t)
            u = (t, r)
            v = u[0]
            return v

    _same(Before, Before)


SYMBOLIC = """
@I.ir_module
class Before:
    @T.prim_func(private=True)
    def kernel(A: T.handle, B: T.handle):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor(("m", "n"), "float32")):
        R.func_attr(ATTRS)
        m, n = T.int64(), T.int64()
        cls = Before
        a = R.builtin.alloc_tensor(R.shape([m, n]), "float32", 0)
        _ = cls.kernel(x, a)
        b = R.builtin.alloc_tensor(R.shape([n * m]), "float32", 0)
        _1 = cls.kernel(a, b)
        c = R.builtin.alloc_tensor(R.shape([m * n]), "float32", 0)
        _2 = cls.kernel(b, c)
        d = R.builtin.alloc_tensor(R.shape([m, n]), "float32", 0)
        _3 = cls.kernel(c, d)
        return d
"""


def _symbolic(attrs: dict[str, Any]) -> IRModule:
    return tvm.script.from_source(SYMBOLIC.replace("ATTRS", repr(attrs)))


def test_equal_symbolic_sizes_share() -> None:
    planned = StaticPlanBlockMemory()(_symbolic({"relax.force_pure": True}))
    assert _storages(planned) == ["T.int64(4) * (m * n)", "T.int64(4) * (n * m)"]
    assert str(planned).count("R.builtin.alloc_tensor") == 1


def test_upper_bounds_make_sizes_known() -> None:
    attrs: dict[str, Any] = {"relax.force_pure": True, "tir_var_upper_bound": {"m": 3, "n": 8}}
    planned = StaticPlanBlockMemory()(_symbolic(attrs))
    assert _storages(planned) == ["96", "96"]
    attrs["relax.memory_plan_dynamic_func_output"] = True
    planned = StaticPlanBlockMemory()(_symbolic(attrs))
    assert _storages(planned) == ["96", "96", "96"]
    assert "R.builtin.alloc_tensor" not in str(planned)
    left = planned["main"].attrs
    assert "relax.memory_plan_dynamic_func_output" not in left  # it is done
    assert left["tir_var_upper_bound"] == {"m": 3, "n": 8}


def test_some_bounds_leave_the_other_symbols() -> None:
    attrs: dict[str, Any] = {
        "relax.force_pure": True,
        "relax.memory_plan_dynamic_func_output": True,
        "tir_var_upper_bound": {"n": 20},
    }
    planned = StaticPlanBlockMemory()(_symbolic(attrs))
    # one number first; bytes of a result last
    sizes = ["80 * m", "4 * (n * m)", "4 * (m * n)", "m * 20 * 4"]
    assert [re.sub(r"T\.int64\((\d+)\)", r"\1", s) for s in _storages(planned)] == sizes
    attrs["tir_non_negative_var"] = ["m"]
    sizes = _storages(StaticPlanBlockMemory()(_symbolic(attrs)))
    assert sizes[1:2] == ["T.int64(4) * (m * T.int64(20))"]


@pytest.mark.parametrize("wrong", [{"m": [4]}, {"m": "four"}, [1]])
def test_wrong_bounds_are_refused(wrong: Any) -> None:
    mod = _symbolic({"relax.force_pure": True})
    func = mod["main"].with_attr("tir_var_upper_bound", wrong)
    with pytest.raises(TVMError, match="tir_var_upper_bound"):
        StaticPlanBlockMemory()(mod.with_functions({**mod.functions,
                                                    mod.get_global_var("main"): func}))


def test_a_tensor_that_nobody_uses_gets_storage() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            R.func_attr({"relax.force_pure": True})
            a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            b = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            return x

    assert _storages(StaticPlanBlockMemory()(Before)) == ["16", "16"]


def test_extra_sizes_of_kernels() -> None:
    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def full(A: T.handle, n: T.int64):
            T.evaluate(0)

        @R.function
        def main(s: R.Shape(["n"]), x: R.Tensor((4,), "float32")):
            R.func_attr({"relax.force_pure": True})
            n = T.int64()
            cls = Before
            a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            _ = R.vm.call_tir_dyn(cls.full, (a, R.shape([n])))
            b = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
            _1 = R.vm.call_tir_dyn(cls.full, (b, R.shape([n])))
            return x

    assert _storages(StaticPlanBlockMemory()(Before)) == ["16"]


def test_memory_is_as_large_as_what_lives_at_once() -> None:
    """A chain of many kernels needs two pieces of storage, however long it is."""
    x = relax.Var("x", relax.TensorStructInfo((64,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        value = x
        for _ in range(3000):
            value = bb.emit(relax.op.exp(value))
        bb.emit_func_output(value)
    mod = relax.transform.LegalizeOps()(bb.get())
    mod = StaticPlanBlockMemory()(relax.transform.CallTIRRewrite()(mod))
    assert _storages(mod) == ["256", "256"]


def test_sizes_that_differ_need_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking for a proof that two long symbolic sizes are equal is dear."""
    proofs = 0
    prove = tvm.arith.Analyzer.can_prove_equal

    def counted(self: Any, lhs: Any, rhs: Any) -> bool:
        nonlocal proofs
        proofs += 1
        return prove(self, lhs, rhs)

    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def kernel(A: T.handle, B: T.handle):
            T.evaluate(0)

        @R.function
        def main(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n * 2 + 2",), "float32"):
            n = T.int64()
            m = T.int64()
            R.func_attr({"relax.force_pure": True})
            cls = Before
            alloc = R.builtin.alloc_tensor(R.shape([n, m]), "float32", 0)
            _ = cls.kernel(x, alloc)
            alloc1 = R.builtin.alloc_tensor(R.shape([n * 2]), "float32", 0)
            _1 = cls.kernel(alloc, alloc1)
            alloc2 = R.builtin.alloc_tensor(R.shape([n + 1, 2]), "float32", 0)
            _2 = cls.kernel(alloc1, alloc2)
            alloc3 = R.builtin.alloc_tensor(R.shape([n, m]), "float32", 0)
            _3 = cls.kernel(alloc2, alloc3)
            alloc4 = R.builtin.alloc_tensor(R.shape([n * 2 + 2]), "float32", 0)
            _4 = cls.kernel(alloc3, alloc4)
            return alloc4

    monkeypatch.setattr(tvm.arith.Analyzer, "can_prove_equal", counted)
    after = StaticPlanBlockMemory()(Before)
    assert len(_storages(after)) == 3  # the fourth takes the first's
    assert proofs == 0

"""RewriteCUDAGraph: storage that is kept, and launches that are recorded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.transform import RewriteCUDAGraph
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def graphs() -> Iterator[None]:
    """The pass does nothing unless it is asked to."""
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        yield


@I.ir_module
class Before:
    @T.prim_func
    def exp(a: T.Buffer((2, 4), "float32"), b: T.Buffer((2, 4), "float32")):
        for i, j in T.grid(2, 4):
            with T.block("exp"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = T.exp(a[vi, vj])

    @R.function
    def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Before
        storage: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
        alloc = R.memory.alloc_tensor(storage, 0, R.shape([2, 4]), "float32")
        _ = cls.exp(x, alloc)
        lv: R.Tensor((2, 4), "float32") = alloc
        _1 = R.memory.kill_tensor(alloc)
        storage1: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
        alloc1 = R.memory.alloc_tensor(storage1, 0, R.shape([2, 4]), "float32")
        _2 = cls.exp(lv, alloc1)
        lv1: R.Tensor((2, 4), "float32") = alloc1
        alloc2 = R.memory.alloc_tensor(storage, 0, R.shape([2, 4]), "float32")
        _4 = cls.exp(lv1, alloc2)
        lv2: R.Tensor((2, 4), "float32") = alloc2
        alloc3 = R.builtin.alloc_tensor(R.shape([2, 4]), "float32", 0, "global")
        _6 = cls.exp(lv2, alloc3)
        gv: R.Tensor((2, 4), "float32") = alloc3
        _8 = R.memory.kill_storage(storage)
        _9 = R.memory.kill_storage(storage1)
        return gv


def test_storage_is_kept_and_launches_are_recorded() -> None:
    @I.ir_module
    class Expected:
        @T.prim_func
        def exp(a: T.Buffer((2, 4), "float32"), b: T.Buffer((2, 4), "float32")):
            for i, j in T.grid(2, 4):
                with T.block("exp"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    b[vi, vj] = T.exp(a[vi, vj])

        @R.function(private=True)
        def cuda_graph_alloc() -> R.Tuple(R.Object, R.Object):
            R.func_attr({"relax.force_pure": True})
            storage: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
            storage1: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
            gv: R.Tuple(R.Object, R.Object) = (storage, storage1)
            return gv

        @R.function(private=True)
        def main_cuda_graph_capture(
            lv: R.Tensor((2, 4), "float32"), alloc1: R.Tensor((2, 4), "float32"), storage: R.Object
        ) -> R.Tuple(R.Tensor((2, 4), "float32")):
            R.func_attr({"relax.force_pure": True})
            cls = Expected
            _2 = cls.exp(lv, alloc1)
            lv1: R.Tensor((2, 4), "float32") = alloc1
            alloc2 = R.memory.alloc_tensor(storage, 0, R.shape([2, 4]), "float32")
            _4 = cls.exp(lv1, alloc2)
            lv2: R.Tensor((2, 4), "float32") = alloc2
            gv: R.Tuple(R.Tensor((2, 4), "float32")) = (lv2,)
            return gv

        @R.function
        def main(x: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
            R.func_attr({"relax.force_pure": True})
            cls = Expected
            gv = R.call_builtin_with_ctx(
                "vm.builtin.cuda_graph.get_cached_alloc", (cls.cuda_graph_alloc, R.prim_value(0)),
                sinfo_args=(R.Tuple(R.Object, R.Object),),
            )  # fmt: skip
            storage: R.Object = gv[0]
            alloc = R.memory.alloc_tensor(storage, 0, R.shape([2, 4]), "float32")
            _ = cls.exp(x, alloc)
            lv: R.Tensor((2, 4), "float32") = alloc
            _1 = R.memory.kill_tensor(alloc)
            storage1: R.Object = gv[1]
            alloc1 = R.memory.alloc_tensor(storage1, 0, R.shape([2, 4]), "float32")
            gv1 = R.call_builtin_with_ctx(
                "vm.builtin.cuda_graph.run_or_capture",
                (cls.main_cuda_graph_capture, (lv, alloc1, storage), R.prim_value(0)),
                sinfo_args=(R.Tuple(R.Tensor((2, 4), "float32")),),
            )
            lv2: R.Tensor((2, 4), "float32") = gv1[0]
            alloc3 = R.builtin.alloc_tensor(R.shape([2, 4]), "float32", 0, "global")
            _6 = cls.exp(lv2, alloc3)
            gv2: R.Tensor((2, 4), "float32") = alloc3
            _8 = R.memory.kill_storage(storage)
            _9 = R.memory.kill_storage(storage1)
            return gv2

    assert_structural_equal(RewriteCUDAGraph()(Before), Expected)


def test_nothing_happens_unless_it_is_asked_for() -> None:
    with tvm.transform.PassContext():
        assert RewriteCUDAGraph()(Before) is Before


def test_weights_are_the_same_in_every_run() -> None:
    @I.ir_module
    class Mod:
        @T.prim_func
        def exp(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
            for i in range(8):
                with T.block("exp"):
                    vi = T.axis.spatial(8, i)
                    b[vi] = T.exp(a[vi])

        @R.function
        def main(x: R.Tensor((8,), "float32"), w: R.Tensor((8,), "float32")):
            R.func_attr({"relax.force_pure": True, "num_input": 1})
            cls = Mod
            storage: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
            alloc = R.memory.alloc_tensor(storage, 0, R.shape([8]), "float32")
            _ = cls.exp(w, alloc)
            storage1: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
            alloc1 = R.memory.alloc_tensor(storage1, 0, R.shape([8]), "float32")
            _1 = cls.exp(alloc, alloc1)
            storage2: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
            alloc2 = R.memory.alloc_tensor(storage2, 0, R.shape([8]), "float32")
            _2 = cls.exp(alloc1, alloc2)
            gv = (alloc2,)
            return gv

    after = RewriteCUDAGraph()(Mod)
    assert [p.name_hint for p in after["main_cuda_graph_capture"].params] == [
        "w", "alloc", "storage1",
    ]  # fmt: skip
    # the result's storage is new in each run, and so what writes it is not recorded
    assert len(after["cuda_graph_alloc"].ret_struct_info.fields) == 2
    text = after["main"].script()
    assert text.count("R.memory.alloc_storage") == 1
    assert text.count("exp(") == 1


def test_storages_of_all_functions_are_planned_together() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def f(x: R.Tensor((8,), "float32")):
            R.func_attr({"relax.force_pure": True})
            a: R.Object = R.memory.alloc_storage(R.shape([100]), 0, "global", "uint8")
            b: R.Object = R.memory.alloc_storage(R.shape([200]), 0, "global", "uint8")
            c: R.Object = R.memory.alloc_storage(R.shape([70]), 0, "shared", "uint8")
            _ = R.call_packed("use", a, b, c, sinfo_args=R.Tuple())
            return x

        @R.function
        def g(x: R.Tensor((8,), "float32")):
            R.func_attr({"relax.force_pure": True})
            a: R.Object = R.memory.alloc_storage(R.shape([300]), 0, "global", "uint8")
            b: R.Object = R.memory.alloc_storage(R.shape([50]), 0, "global", "uint8")
            _ = R.call_packed("use", a, b, a, sinfo_args=R.Tuple())
            return x

    after = RewriteCUDAGraph()(Mod)
    sizes = [
        int(b.value.args[0].values[0])
        for b in after["cuda_graph_alloc"].body.blocks[0].bindings[:-1]
    ]
    assert sizes == [300, 100, 70]
    for name, places in (("f", [1, 0, 2]), ("g", [0, 1])):
        values = [b.value for b in after[name].body.blocks[0].bindings]
        items = [value.index for value in values if isinstance(value, relax.TupleGetItem)]
        assert items == places
        assert "(cuda_graph_alloc, R.prim_value(0))" in str(values[0])
    captured = after["f_cuda_graph_capture"].body
    assert str(captured.body) == "R.tuple()"
    assert len(captured.blocks[0].bindings) == 2


def test_what_launches_nothing_is_not_recorded() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((8,), "float32")):
            R.func_attr({"relax.force_pure": True})
            nothing = R.null_value()
            pair = (nothing, nothing)
            _ = R.call_packed("use", x, pair, sinfo_args=R.Tuple())
            return x

    assert [var.name_hint for var in RewriteCUDAGraph()(Mod).functions] == ["main"]


def _behind_the_first_launch(between: str) -> list[str]:
    """The variables of a function's bindings; each `gv` is the result of a graph.

    `between` is bound to `o` among three launches, of which the first is not the same in each run.
    """
    storages = "\n".join(
        f"    s{i} = R.memory.alloc_storage(R.shape([32]), 0, 'global', 'float32')\n"
        f"    a{i} = R.memory.alloc_tensor(s{i}, 0, R.shape([2, 4]), 'float32')"
        for i in range(3)
    )
    text = f"""
@R.function
def main(x: R.Tensor((2, 4), "float32"), t: R.Tuple(R.Tensor((2, 4), "float32"))):
    R.func_attr({{"relax.force_pure": True}})
{storages}
    first = R.call_packed("launch", x, a0, sinfo_args=R.Tuple())
    second = R.call_packed("launch", a0, a1, sinfo_args=R.Tuple())
    o = {between}
    third = R.call_packed("launch", a1, a2, sinfo_args=R.Tuple())
    last = R.call_packed("launch", a2, x, sinfo_args=R.Tuple())
    return o
"""
    mod = IRModule({"main": tvm.script.from_source(text, {"R": R})})
    after = RewriteCUDAGraph()(mod)
    names = [b.var.name_hint for b in after["main"].body.blocks[0].bindings]
    return names[names.index("first") + 1 :]


@pytest.mark.parametrize(
    "between",
    [
        'R.builtin.alloc_tensor(R.shape([2, 4]), "float32", 0, "global")',
        "R.shape([2, 4])",
        "R.prim_value(3)",
        'R.str("text")',
        'R.match_cast(x, R.Tensor((2, 4), "float32"))',
    ],
)
def test_what_puts_nothing_on_the_device_ends_no_region(between: str) -> None:
    assert _behind_the_first_launch(between) == ["gv1", "o", "last"]


@pytest.mark.parametrize(
    "between",
    ["x", "(x, x)", "t[0]", 'R.call_packed("use", x, sinfo_args=R.Object())', "R.reshape(x, (8,))",
     'R.call_packed("vm.builtin.shape_of", a1, sinfo_args=R.Object())'],
)  # fmt: skip
def test_what_differs_from_run_to_run_ends_a_region(between: str) -> None:
    assert _behind_the_first_launch(between) == ["gv1", "o", "gv2", "last"]


def test_results_are_in_the_order_of_their_readers() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((8,), "float32"), w: R.Tensor((8,), "float32")):
            R.func_attr({"relax.force_pure": True, "num_input": 1})
            a: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
            b: R.Object = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
            _ = R.call_packed("launch", w, sinfo_args=R.Tuple())
            one = R.memory.alloc_tensor(a, 0, R.shape([8]), "float32")
            two = R.memory.alloc_tensor(b, 0, R.shape([8]), "float32")
            _1 = R.call_packed("launch", two, x, one, sinfo_args=R.Tuple())
            return x

    after = RewriteCUDAGraph()(Mod)
    (given,) = [
        b.value
        for b in after["main_cuda_graph_capture"].body.blocks[0].bindings
        if isinstance(b.value, relax.Tuple)
    ]
    assert [field.name_hint for field in given.fields] == ["two", "one"]


def test_symbolic_sizes_may_be_part_of_what_is_recorded() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((8,), "float32"), w: R.Tensor(("m",), "float32")):
            R.func_attr({
                "relax.force_pure": True, "num_input": 1,
                "relax.rewrite_cuda_graph.capture_symbolic_vars": ["m"],
            })  # fmt: skip
            m = T.int64()
            storage: R.Object = R.memory.alloc_storage(R.shape([64]), 0, "global", "float32")
            alloc = R.memory.alloc_tensor(storage, 0, R.shape([m]), "float32")
            _ = R.call_packed("launch", w, alloc, sinfo_args=R.Tuple())
            storage1: R.Object = R.memory.alloc_storage(R.shape([64]), 0, "global", "float32")
            alloc1: R.Tensor((m,), "float32") = R.memory.alloc_tensor(
                storage1, 0, R.shape([m]), "float32"
            )
            _1 = R.call_packed("launch", alloc1, x, sinfo_args=R.Tuple())
            return x

    after = RewriteCUDAGraph()(Mod)
    captured = after["main_cuda_graph_capture"]
    assert [p.name_hint for p in captured.params] == ["w", "alloc", "storage1", "shape_expr"]
    assert relax.analysis.well_formed(after)
    (call,) = [b.value for b in after["main"].body.blocks[0].bindings
               if "run_or_capture" in str(b.value)]  # fmt: skip
    assert len(call.args[1].fields) == 4
    assert str(call.args[1].fields[1]) == "(w, alloc, storage1, R.shape([m]))"
    assert str(call.args[1].fields[3]) == "R.shape([m])"


def _model() -> IRModule:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with bb.function("main", [x]):
        y = x
        for _ in range(5):
            y = bb.emit(relax.op.nn.softmax(relax.op.add(y, relax.const(np.ones(8, "float32")))))
        bb.emit_func_output(y)
    return bb.get()


@pytest.mark.cpu
def test_the_numbers_stay_the_same() -> None:
    from tvm.relax import transform as t

    passes = [
        t.LegalizeOps(), t.ToNonDataflow(), t.RemovePurityChecking(), t.CallTIRRewrite(),
        t.StaticPlanBlockMemory(), RewriteCUDAGraph(), t.LowerAllocTensor(), t.KillAfterLastUse(),
        t.LowerRuntimeBuiltin(), t.ComputePrimValue(), t.VMShapeLower(), t.AttachGlobalSymbol(),
    ]  # fmt: skip
    lowered = tvm.transform.Sequential(passes)(_model())
    assert "run_or_capture" in lowered.script()
    built = relax.build(lowered, "llvm", relax_pipeline=None)
    vm = relax.VirtualMachine(built, tvm.cpu())
    plain = relax.VirtualMachine(tvm.compile(_model(), "llvm"), tvm.cpu())
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((4, 8)).astype("float32")
        np.testing.assert_allclose(vm["main"](x).numpy(), plain["main"](x).numpy(), rtol=1e-5)

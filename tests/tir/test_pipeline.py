import numpy as np
import pytest

import tvm
from tvm.ir.transform import PassContext, Sequential
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir import BufferStore, PrimFunc, decl_buffer
from tvm.tir.functor import walk
from tvm.tir.pipeline import (
    PIPELINE_MAP,
    default_tir_pipeline,
    finalize_device_passes,
    finalize_host_passes,
    get_default_tir_pipeline,
    get_tir_pipeline,
    lowering_passes,
)
from tvm.tir.transform import prim_func_pass

pytestmark = pytest.mark.pure


@T.prim_func
def add(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0


def test_lowers_to_a_packed_function():
    func = get_tir_pipeline()(tvm.IRModule.from_expr(add))["add"]
    assert int(func.attrs["calling_conv"]) == 1
    assert func.attrs["tir.is_entry_func"]
    assert not func.buffer_map


def test_each_pass_gives_its_name():
    passes = [*lowering_passes(PassContext.current()), *finalize_host_passes().passes,
              *finalize_device_passes().passes]  # fmt: skip
    assert all(p.info.name.startswith("tir.") for p in passes)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"tir.disable_storage_rewrite": True}, "tir.StorageRewrite"),
        ({"tir.disable_cse_tir": True}, "tir.CommonSubexprElimTIR"),
    ],
)
def test_passes_can_be_left_out(config, name):
    with PassContext(config=config) as ctx:
        assert name not in [p.info.name for p in lowering_passes(ctx)]
    assert name in [p.info.name for p in lowering_passes(PassContext())]


@pytest.mark.parametrize("phase", range(4))
def test_passes_can_be_added(phase):
    seen = []

    @prim_func_pass(opt_level=0, name="tir.Mine")
    def mine(func, mod, ctx):
        seen.append(func.body)
        return func

    with PassContext(config={"tir.add_lower_pass": [(phase, mine)]}) as ctx:
        mod = tvm.IRModule.from_expr(add)
        for one in lowering_passes(ctx):
            mod = one(mod)
    assert (seen[0] is add.body) == (phase == 0)


def test_disable_assert():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), n: T.int32):
        assert n > 0, "n"
        A[0] = 1.0

    for off in (False, True):
        with PassContext(config={"tir.disable_assert": off}) as ctx:
            mod = tvm.IRModule.from_expr(func)
            for one in lowering_passes(ctx):
                mod = one(mod)
        kinds = [type(n).__name__ for n in walk(mod["func"].body)]
        assert ("AssertStmt" in kinds) is not off


def test_indices_from_data_are_checked_without_asserts():
    @T.prim_func
    def func(
        A: T.Buffer((4,), "float32"), I: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")
    ):
        for i in range(8):
            with T.block("take"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[I[vi]]

    with PassContext(config={"tir.disable_assert": True}):
        take = tvm.compile(func, "llvm")
    places = np.arange(8, dtype="int32")
    a, b = (tvm.runtime.tensor(np.ones(n, "float32")) for n in (4, 8))
    with pytest.raises(IndexError, match=r"take|I"):
        take(a, tvm.runtime.tensor(places), b)


def test_disable_vectorize():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        for i in T.vectorized(16):
            A[i] = 1.0

    with PassContext(config={"tir.disable_vectorize": True}) as ctx:
        mod = tvm.IRModule.from_expr(func)
        for one in lowering_passes(ctx):
            mod = one(mod)
    assert str(mod["func"].body.body.value.dtype) == "float32"


def test_kernels_are_cut_out():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = 1.0

    target = Target("cuda", host="llvm")
    mod = get_tir_pipeline()(tvm.IRModule({"func": func.with_attr("target", target)}))
    assert [v.name_hint for v in mod.get_global_vars()] == ["func", "func_kernel"]
    assert mod["func"].attrs["target"].kind.name == "llvm"
    assert mod["func_kernel"].attrs["target"].kind.name == "cuda"


def test_by_name():
    assert get_default_tir_pipeline(Target("llvm")).info.name == default_tir_pipeline().info.name
    with pytest.raises(ValueError, match=r"Unknown pre-built pipeline 'defualt'.*default"):
        get_tir_pipeline("defualt")


def test_a_name_may_be_added(monkeypatch):
    monkeypatch.setitem(PIPELINE_MAP, "of_a_user", default_tir_pipeline)
    assert get_tir_pipeline("of_a_user").info.name == default_tir_pipeline().info.name


def long_sum(terms: int) -> PrimFunc:
    a, b = decl_buffer((terms,), "float32", "A"), decl_buffer((1,), "float32", "B")
    total = a[0]
    for i in range(1, terms):
        total = total + a[i]
    return PrimFunc([a, b], BufferStore(b, total, [0]), attrs={"global_symbol": "main"})


def test_lowers_a_sum_of_5000_terms():
    lowered = get_tir_pipeline()(tvm.IRModule.from_expr(long_sum(5000)))
    assert int(lowered["main"].attrs["calling_conv"]) == 1


@pytest.mark.cpu
def test_runs_a_sum_of_5000_terms():
    x, y = np.ones(5000, "float32"), np.zeros(1, "float32")
    tvm.compile(long_sum(5000))["main"](x, y)
    assert y[0] == 5000


@pytest.mark.cpu
def test_many_parameters():
    count = 170
    buffers = [decl_buffer((4,), "float32", f"A{i}") for i in range(count)]
    body = BufferStore(buffers[-1], buffers[0][1], [0])
    func = PrimFunc(buffers, body, attrs={"global_symbol": "main"})
    tensors = [np.full(4, i, "float32") for i in range(count)]
    tvm.compile(func)["main"](*tensors)
    assert tensors[-1][0] == 0


def test_the_last_passes_are_one_pass() -> None:
    """They may be called with a module, as every pass."""
    for passes in (finalize_host_passes(), finalize_device_passes()):
        assert isinstance(passes, Sequential)
        assert passes.passes

import numpy as np
import pytest

import tvm
from tvm.script import tir as T


@T.prim_func
def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * 2.0


@T.prim_func
def doubled_block(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] * T.float32(2)


@pytest.mark.cpu
def test_compiles_functions():
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    tvm.compile(double, target="llvm")["double"](a, b)
    np.testing.assert_array_equal(b, a * 2)


@pytest.mark.cpu
def test_the_older_name_warns():
    with pytest.warns(DeprecationWarning, match="compile"):
        built = tvm.build(double)
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    built["double"](a, b)
    np.testing.assert_array_equal(b, a * 2)


@pytest.mark.pure
def test_rejects_what_is_no_module():
    with pytest.raises(TypeError, match=r"tvm\.compile\s+found:\s+str\s+legal:\s+an IRModule"):
        tvm.compile("model.onnx")


@pytest.mark.pure
def test_flat_loops_for_people_to_read():
    sch = tvm.tir.Schedule(doubled_block)
    block = sch.get_block("B")
    sch.vectorize(sch.get_loops(block)[0])
    assert "A[0:4] * T.Broadcast" in tvm.lower(sch).script()
    assert "T.vectorized(4)" in tvm.lower(sch, simple_mode=True).script()


@pytest.mark.pure
def test_flat_loops_with_threads():
    sch = tvm.tir.Schedule(doubled_block)
    block = sch.get_block("B")
    sch.bind(sch.get_loops(block)[0], "threadIdx.x")
    with tvm.target.Target("cuda"):
        text = tvm.driver.lower(sch.mod["main"], name="twice")["twice"].script()
    assert 'T.launch_thread("threadIdx.x", 4)' in text


@pytest.mark.pure
def test_flat_loops_for_a_cpu_have_no_threads():
    """A CPU is its own host: its loops stay loops, whichever target the context names."""
    sch = tvm.tir.Schedule(doubled_block)
    sch.parallel(sch.get_loops(sch.get_block("B"))[0])
    with tvm.target.Target("llvm -mcpu=haswell"):
        func = tvm.lower(sch)["main"]
    assert "for i in T.parallel(4)" in func.script()
    assert func.attrs["target"].host is None


@pytest.mark.pure
def test_schedules_of_te_are_no_more():
    with pytest.raises(TypeError, match=r"tvm\.lower\s+found:\s+args or binds\s+legal:.*create"):
        tvm.lower(double, [])
    with pytest.raises(TypeError, match=r"tvm\.lower\s+found:\s+str"):
        tvm.lower("model.onnx")

"""Calls that are repeated without the program give what the program gives."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tests.runtime.device_api import programs
from tests.runtime.device_api.devices import needs
from tvm import relax
from tvm.relax import op as o
from tvm.runtime._tensor import tensor_at
from tvm.runtime.device_api.kinds import api_of
from tvm.script import tir as T
from tvm.support.dtype import DataType
from tvm.target import Target

pytestmark = [pytest.mark.device, needs("opencl")]
DEV = tvm.opencl(0)
SHAPE = (4, 6)


def machine(mod: tvm.IRModule) -> relax.VirtualMachine:
    return relax.VirtualMachine(tvm.compile(mod, Target("opencl", host="llvm")), DEV)


def graph(make: Callable[..., Any], *infos: relax.StructInfo) -> relax.VirtualMachine:
    """A function of parameters x0, x1, ...: what `make` emits of them."""
    params = [relax.Var(f"x{n}", info) for n, info in enumerate(infos)]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(make(bb, *params))
    return machine(bb.get())


def given(seed: int, shape: tuple[int, ...] = SHAPE) -> Any:
    return tvm.runtime.tensor(programs.floats(*shape, seed=seed), DEV)


def plans(vm: relax.VirtualMachine, name: str = "main") -> list[Any]:
    """The notes that a machine has of a function."""
    kept = vm._machine()._plans._kept.get(name, {})
    return [plan for plan in kept.values() if plan is not None]


FLOATS = relax.TensorStructInfo(SHAPE, "float32")
SQUARE = relax.TensorStructInfo((5, 5), "float32")


def test_many_calls() -> None:
    """Each call has its own inputs and its own result; kernels, constants and scratch memory."""
    weight = programs.floats(6, 6, seed=1)

    def make(bb: Any, x: Any, y: Any) -> Any:
        z = bb.emit(o.matmul(o.add(x, y), relax.const(weight)))
        return bb.emit(o.sort(bb.emit(o.nn.softmax(z)), 1))

    vm = graph(make, FLOATS, FLOATS)
    found = []
    for n in range(6):
        x, y = given(n), given(n + 50)
        found.append((x.numpy(), y.numpy(), vm["main"](x, y)))
        assert len(plans(vm)) == (n >= 1)
    for x, y, out in found:
        e = np.exp((x + y) @ weight)
        np.testing.assert_allclose(out.numpy(), np.sort(e / e.sum(1, keepdims=True)), rtol=2e-5)


def test_results_of_every_kind() -> None:
    """A tuple of what is made, of an input, of a view of each, and of a constant."""
    weight = programs.floats(3, seed=1)

    def make(bb: Any, x: Any, y: Any) -> Any:
        made = bb.emit(o.exp(x))
        turned = bb.emit(o.reshape(made, (6, 4)))
        flat = bb.emit(o.reshape(y, (24,)))
        return bb.emit(relax.Tuple([made, turned, y, flat, relax.const(weight)]))

    vm = graph(make, FLOATS, FLOATS)
    for n in range(4):
        x, y = given(n), given(n + 50)
        made, turned, same, flat, constant = vm["main"](x, y)
        np.testing.assert_allclose(made.numpy(), np.exp(x.numpy()), rtol=1e-6)
        np.testing.assert_array_equal(turned.numpy().ravel(), made.numpy().ravel())
        assert turned.shape == (6, 4)
        np.testing.assert_array_equal(same.numpy(), y.numpy())
        np.testing.assert_array_equal(flat.numpy(), y.numpy().ravel())
        np.testing.assert_array_equal(constant.numpy(), weight)
    assert len(plans(vm)) == 1


def test_one_tensor_given_twice() -> None:
    """Which input an address belongs to cannot be told, so such a call is not noted."""
    vm = graph(lambda bb, x, y: bb.emit(o.subtract(x, y)), FLOATS, FLOATS)
    x = given(0)
    for _ in range(3):
        np.testing.assert_array_equal(vm["main"](x, x).numpy(), np.zeros(SHAPE, "float32"))
    assert not plans(vm)
    for n in range(3):
        y = given(n)
        np.testing.assert_allclose(vm["main"](x, y).numpy(), x.numpy() - y.numpy())
    assert len(plans(vm)) == 1
    np.testing.assert_array_equal(vm["main"](x, x).numpy(), np.zeros(SHAPE, "float32"))


def test_sizes_and_numbers() -> None:
    """Other sizes are other notes; few are kept."""
    n = T.Var("n", "int64")

    def make(bb: Any, x: Any) -> Any:
        return bb.emit(o.add(bb.emit(o.exp(x)), o.full((n,), relax.const(1.0, "float32"))))

    vm = graph(make, relax.TensorStructInfo((n,), "float32"))
    for _ in range(3):
        for size in (1, 3, 70):
            x = given(size, (size,))
            np.testing.assert_allclose(vm["main"](x).numpy(), np.exp(x.numpy()) + 1, rtol=1e-6)
    assert len(plans(vm)) == 3
    for size in range(1, 70):
        x = given(size, (size,))
        np.testing.assert_allclose(vm["main"](x).numpy(), np.exp(x.numpy()) + 1, rtol=1e-6)
    assert len(vm._machine()._plans._kept["main"]) == 64


def test_wrong_operands_after_right_ones() -> None:
    vm = graph(lambda bb, x: bb.emit(o.exp(x)), FLOATS)
    for _ in range(3):
        vm["main"](given(0))
    for _ in range(3):
        with pytest.raises(ValueError, match="extent 4"):
            vm["main"](given(0, (5, 6)))
        with pytest.raises(TypeError, match="float32"):
            vm["main"](tvm.runtime.tensor(np.zeros(SHAPE, "int32"), DEV))


def test_functions_of_others_are_called_each_time() -> None:
    calls = []

    @tvm.register_global_func("tests.launch_plan.seen", override=True)
    def seen(x: Any) -> Any:
        calls.append(x.numpy())
        return x

    def make(bb: Any, x: Any) -> Any:
        y = bb.emit(o.exp(x))
        z = bb.emit(relax.Call(relax.ExternFunc("tests.launch_plan.seen"), [y],
                               sinfo_args=[FLOATS]))  # fmt: skip
        return bb.emit(o.negative(z))

    vm = graph(make, FLOATS)
    for n in range(4):
        x = given(n)
        np.testing.assert_allclose(vm["main"](x).numpy(), -np.exp(x.numpy()), rtol=1e-6)
        assert len(calls) == n + 1
    assert not plans(vm)


def test_kernels_that_call_others() -> None:
    """What a kernel's host part calls is called each time."""
    calls = []
    tvm.register_global_func("tests.launch_plan.told", calls.append, override=True)

    @T.prim_func
    def told(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")) -> None:
        T.func_attr({"tir.is_scheduled": True})
        T.evaluate(T.call_packed("tests.launch_plan.told", 3))
        with T.launch_thread("threadIdx.x", 8) as tx:
            y[tx] = x[tx] * T.float32(2)

    info = relax.TensorStructInfo((8,), "float32")
    x = relax.Var("x", info)
    bb = relax.BlockBuilder()
    var = bb.add_func(told, "told")
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.call_tir(var, [x], info)))
    vm = machine(bb.get())
    assert "told" not in vm.artefact.launching
    for n in range(4):
        one = given(n, (8,))
        np.testing.assert_allclose(vm["main"](one).numpy(), one.numpy() * 2)
        assert len(calls) == n + 1


def test_branches_follow_values() -> None:
    """What a call does depends on a value, so it is not noted."""
    cond = relax.Var("c", relax.TensorStructInfo((), "bool"))
    x = relax.Var("x", FLOATS)
    bb = relax.BlockBuilder()
    with bb.function("main", [cond, x]):
        one = relax.SeqExpr([], o.exp(x))
        two = relax.SeqExpr([], o.negative(x))
        bb.emit_func_output(bb.emit(relax.If(cond, one, two)))
    vm = machine(bb.get())
    for n in range(6):
        given_x, yes = given(n), n % 2 == 0
        out = vm["main"](tvm.runtime.tensor(np.array(yes), DEV), given_x).numpy()
        wanted = np.exp(given_x.numpy()) if yes else -given_x.numpy()
        np.testing.assert_allclose(out, wanted, rtol=1e-6)
    assert not plans(vm)


def test_views_that_start_anywhere() -> None:
    """A device takes memory from some bytes on only; others are copied, by notes too."""
    vm = graph(lambda bb, x: bb.emit(o.exp(x)), relax.TensorStructInfo((8,), "float32"))
    whole = given(3, (64,))
    for start in (0, 64, 128, 0, 64, 128, 0, 64, 128):
        place = whole.data_ptr() + start
        part = tensor_at(whole, place, DEV, (8,), DataType("float32"))
        np.testing.assert_allclose(vm["main"](part).numpy(), np.exp(part.numpy()), rtol=1e-6)


def test_byte_offsets_are_refused_as_ever() -> None:
    vm = graph(lambda bb, x: bb.emit(o.exp(x)), relax.TensorStructInfo((8,), "float32"))
    whole = given(3, (128,))
    for _ in range(3):
        vm["main"](given(0, (8,)))
    for _ in range(3):
        with pytest.raises(ValueError, match="starts 256 bytes behind"):
            vm["main"](whole._create_view((8,), "float32", 256))


def test_memory_comes_back() -> None:
    vm = graph(lambda bb, x: bb.emit(o.matmul(bb.emit(o.matmul(x, x)), x)), SQUARE)
    x, api = given(0, (5, 5)), api_of("opencl")
    vm["main"](x)
    gc.collect()
    before = api.memory_in_use(0)
    for _ in range(20):
        vm["main"](x)
        assert api.memory_in_use(0) == before
    kept = vm["main"](x)
    api.drop_pool()
    wanted = x.numpy() @ x.numpy() @ x.numpy()
    np.testing.assert_allclose(vm["main"](x).numpy(), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(kept.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_threads() -> None:
    vm = graph(lambda bb, x: bb.emit(o.matmul(bb.emit(o.exp(x)), x)), SQUARE)
    wrong: list[int] = []

    def work(first: int) -> None:
        for n in range(first, first + 15):
            x = given(n, (5, 5))
            found, values = vm["main"](x).numpy(), x.numpy()
            if not np.allclose(found, np.exp(values) @ values, rtol=1e-4, atol=1e-5):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_instruments_see_every_call() -> None:
    vm = graph(lambda bb, x: bb.emit(o.exp(x)), FLOATS)
    for n in range(3):
        vm["main"](given(n))
    seen: list[str] = []
    vm.set_instrument(lambda func, name, before, value, *args: seen.append(name))
    x = given(7)
    np.testing.assert_allclose(vm["main"](x).numpy(), np.exp(x.numpy()), rtol=1e-6)
    assert "tir_exp" in seen
    vm.set_instrument(None)
    np.testing.assert_allclose(vm["main"](x).numpy(), np.exp(x.numpy()), rtol=1e-6)


def test_time_limits() -> None:
    from tvm.error import CallTimeout

    vm = graph(lambda bb, x: bb.emit(o.exp(x)), FLOATS)
    for n in range(3):
        vm["main"](given(n))
    with pytest.raises(CallTimeout):
        vm.invoke("main", given(0), timeout=0.0)

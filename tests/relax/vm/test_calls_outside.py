"""What compiled programs do besides their results: unused calls, printing, tuples kept by a VM."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.cpu
PAIR = R.Tuple([R.Tensor((2,), "float32"), R.Tensor((2,), "float32")])


@I.ir_module
class Module:
    @R.function
    def packed(x: R.Tensor((2,), "float32")):
        u = R.call_pure_packed("test.note", x, sinfo_args=R.Tensor((2,), "float32"))
        return x

    @R.function
    def in_a_block(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            u = R.call_pure_packed("test.note", x, sinfo_args=R.Tensor((2,), "float32"))
            y = R.add(x, x)
            R.output(y)
        return y

    @R.function
    def callback(
        x: R.Tensor((2,), "float32"), f: R.Callable([R.Tensor((2,), "float32")], R.Tuple([]))
    ):
        _ = f(x)
        return x

    @R.function(pure=False)
    def prints(x: R.Tensor((), "int32"), y: R.Tensor((2,), "int32")):
        t = (x, y)
        _ = R.print(t, format="pair {}")
        return x

    @R.function
    def takes_a_tuple(t: PAIR):
        return R.add(t[0], t[1])

    @R.function
    def gives_tuples(x: R.Tensor((2,), "float32")):
        return (x, (x, x), R.tuple())

    @R.function
    def gives_nothing(x: R.Tensor((2,), "float32")):
        return R.tuple()


@pytest.fixture(params=["bytecode", "compiled"])
def vm(request: pytest.FixtureRequest) -> relax.VirtualMachine:
    return relax.VirtualMachine(relax.build(Module, "llvm", exec_mode=request.param), tvm.cpu())


X = np.ones(2, "float32")


def test_calls_whose_result_nobody_uses_still_run(vm: relax.VirtualMachine) -> None:
    notes: list[float] = []
    tvm.register_global_func(
        "test.note", lambda x: notes.append(float(x.numpy().sum())) or x, override=True
    )
    x = tvm.runtime.tensor(X)
    vm["packed"](x)
    vm["in_a_block"](x)
    vm["callback"](x, lambda x: notes.append(0.0))
    assert notes == [2.0, 2.0, 0.0]


def test_dead_code_elimination_takes_the_promise_of_purity() -> None:
    found = relax.transform.DeadCodeElimination()(Module)
    assert "test.note" not in found.script()


def test_a_tuple_is_printed_by_its_values(
    vm: relax.VirtualMachine, capsys: pytest.CaptureFixture[str]
) -> None:
    vm["prints"](np.array(4, "int32"), np.array([5, 6], "int32"))
    assert capsys.readouterr().out == "pair (4, [5 6])\n"


def test_a_tuple_is_one_argument(vm: relax.VirtualMachine) -> None:
    pair = (tvm.runtime.tensor(X), tvm.runtime.tensor(X))
    vm.set_input("takes_a_tuple", pair)
    vm.invoke_stateful("takes_a_tuple")
    np.testing.assert_array_equal(vm.get_outputs("takes_a_tuple").numpy(), X + X)
    np.testing.assert_array_equal(vm["takes_a_tuple"](pair).numpy(), X + X)


def test_results_are_tuples(vm: relax.VirtualMachine) -> None:
    for name, shape in (("gives_tuples", 3), ("gives_nothing", 0)):
        vm.set_input(name, tvm.runtime.tensor(X))
        vm.invoke_stateful(name)
        found = vm.get_outputs(name)
        assert (type(found), len(found)) == (tuple, shape)
        assert isinstance(vm[name](tvm.runtime.tensor(X)), tvm.ir.Array)
    vm.set_input("gives_tuples", tvm.runtime.tensor(X))
    vm.invoke_stateful("gives_tuples")
    assert [type(part) for part in vm.get_outputs("gives_tuples")[1:]] == [tuple, tuple]


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
def test_numbers_that_are_set_are_tensors_where_these_are_asked_for(mode: str) -> None:
    @I.ir_module
    class Mod:
        @R.function
        def doubled(x: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            return R.add(x, x)

        @R.function
        def mixed(n: R.Prim("int64"), x: R.Tensor((), "float32"), c: R.Tensor((), "bool")):
            return (x, n, c)

    vm = relax.VirtualMachine(relax.build(Mod, "llvm", exec_mode=mode), tvm.cpu())
    vm.set_input("doubled", 3)
    vm.invoke_stateful("doubled")
    assert int(vm.get_outputs("doubled").numpy()) == 6
    vm.save_function("doubled", "of_seven", x=7)
    assert int(vm["of_seven"]().numpy()) == 14
    vm.set_input("mixed", 4, 2.5, True)
    vm.invoke_stateful("mixed")
    x, n, c = vm.get_outputs("mixed")
    assert (float(x.numpy()), n, bool(c.numpy())) == (2.5, 4, True)
    with pytest.raises(TypeError, match=r"expects a Tensor|legal: int32"):
        vm["doubled"](3)


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
def test_another_name_outlives_what_is_killed(mode: str) -> None:
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            s = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype("float32"))
            a = R.vm.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))
            b = a
            _ = R.vm.kill_object(a)
            c = R.multiply(b, R.const(0.0, "float32"))
            d = R.add(c, x)
            return d

    vm = relax.VirtualMachine(relax.build(Mod, "llvm", exec_mode=mode), tvm.cpu())
    assert vm["main"](tvm.runtime.tensor(np.ones(4, "float32"))).shape == (4,)

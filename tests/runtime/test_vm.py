"""The virtual machine on bytecode and native code: calls, state, instruments, profiles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import tvm
from tests.runtime.test_module import Table
from tvm.error import ArgumentCountError, ArgumentNameError, TVMError
from tvm.runtime import VirtualMachine, tensor
from tvm.runtime.artefact import Artefact, FunctionInfo, KernelInfo, ValueInfo
from tvm.runtime.bytecode import (
    Bytecode,
    BytecodeFunction,
    Call,
    Const,
    Func,
    Goto,
    If,
    Imm,
    Reg,
    Ret,
)
from tvm.runtime.profiling import Count
from tvm.runtime.vm import Lap, VMInstrumentReturnKind
from tvm.runtime.vm_executable import VMExecutable, VMModule
from tvm.runtime.vm_interpreter import VM_REGISTER

pytestmark = pytest.mark.pure

# main(x, flag) = flag ? scale(x, 3) + c : x;   apply(f, x) = f(x)
CODE = Bytecode(
    (
        BytecodeFunction("main", ("x", "flag"), 5, (
            Call(2, 3, (Reg(1),)),
            If(2, 4),
            Call(3, 0, (Reg(0), Imm(3))),
            Goto(3),
            Call(-1, 4, ()),
            Ret(0),
            Call(4, 1, (Reg(3), Const(0))),
            Ret(4),
        )),
        BytecodeFunction("closure", (), 2, (
            Call(0, 5, (Reg(VM_REGISTER), Const(1), Const(2))), Ret(0))),
        BytecodeFunction("apply", ("f", "x"), 3, (
            Call(2, 6, (Reg(VM_REGISTER), Reg(0), Reg(1))), Ret(2))),
        BytecodeFunction("inner", (), 1, (Call(0, 7, (Func(1), Imm(4))), Ret(0))),
    ),
    ("scale", "add", "main", "vm.builtin.read_if_cond", "vm.builtin.null_value",
     "vm.builtin.make_closure", "vm.builtin.invoke_closure", "call_with_one", "missing"),
    ({"tensor": 0}, "main", 1),
)  # fmt: skip


def kernels() -> Table:
    return Table(
        scale=lambda x, k: tensor(x.numpy() * k),
        add=lambda x, y: tensor(x.numpy() + (y.numpy() if hasattr(y, "numpy") else 1)),
        call_with_one=lambda f, x: f(tensor(np.array([x])), 1),
    )


def machine(**artefact: object) -> VirtualMachine:
    infos = (FunctionInfo("main", (ValueInfo("x", (2,), "int64"), ValueInfo("flag", (), "bool")),
                          (ValueInfo("y", (2,), "int64"),)),)  # fmt: skip
    made = Artefact(
        functions=infos, kernels=(KernelInfo("scale", ("Mul_0",)),), bytecode=CODE, **artefact
    )
    constant = tensor(np.array([10, 20]))
    return VirtualMachine(VMExecutable(VMModule(made, kernels(), (constant,))), tvm.cpu())


X = np.array([1, 2])


@pytest.mark.parametrize(("flag", "expected"), [(True, [13, 26]), (False, [1, 2])])
def test_branches_calls_and_constants(flag: bool, expected: list[int]) -> None:
    np.testing.assert_array_equal(machine()["main"](X, flag).numpy(), expected)


def test_arguments_are_counted() -> None:
    with pytest.raises(ArgumentCountError) as caught:
        machine()["main"](X)
    assert str(caught.value) == "main: 2 arguments\n  found: 1\n  legal: x, flag"


def test_functions_are_values() -> None:
    assert machine()["inner"]().numpy() == [5]


def test_closures() -> None:
    vm = machine()
    with pytest.raises(TypeError, match="a closure that the program returned"):
        vm.invoke_closure(3)
    closure = vm["closure"]()
    assert closure.captured == (1,)
    assert callable(closure)


def test_state() -> None:
    vm = machine()
    vm.set_input("main", flag=True, x=X)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(vm.get_outputs("main").numpy(), [13, 26])
    vm.save_function("main", "saved", X, False)
    np.testing.assert_array_equal(vm["saved"]().numpy(), X)
    vm.save_function("main", "quiet", X, False, include_return=False)
    assert vm["quiet"]() is None
    vm.save_function("main", "first", X)  # the rest comes with the call
    np.testing.assert_array_equal(vm["first"](False).numpy(), X)
    with pytest.raises(ArgumentCountError):
        vm["first"](False, 1)


@pytest.mark.parametrize("call", ["invoke_stateful", "get_outputs"])
def test_state_that_is_not_there_is_refused(call: str) -> None:
    with pytest.raises(ValueError, match=f"{call}.*main"):
        getattr(machine(), call)("main")


def test_arguments_by_name_are_checked() -> None:
    with pytest.raises(ArgumentNameError, match="1 by position, y by name\n  legal: x, flag"):
        machine().set_input("main", X, y=3)
    with pytest.raises(ArgumentNameError, match="2 by position, x by name"):
        machine().set_input("main", X, True, x=X)


def test_missing_functions_are_refused_with_near_names() -> None:
    with pytest.raises(ValueError, match="did you mean 'main'"):
        machine()["mian"]
    with pytest.raises(ValueError, match="signature of 'mian'"):
        machine().signature("mian")


def test_a_function_that_nobody_has_is_named() -> None:
    code = Bytecode((BytecodeFunction("main", (), 1, (Call(0, 0, ()), Ret(0))),), ("lost.kernel",))
    vm = VirtualMachine(VMModule(Artefact(bytecode=code), Table()))
    with pytest.raises(TVMError, match=r"run a program that calls 'lost\.kernel'"):
        vm["main"]()


def test_services_are_functions_by_name_too() -> None:
    vm = machine()
    vm["set_input"]("main", X, True)
    vm["invoke_stateful"]("main")
    assert vm["get_output_arity"]("main") == -1
    np.testing.assert_array_equal(vm["get_output"]("main").numpy(), [13, 26])
    assert vm["get_function_arity"]("main") == 2
    assert vm["get_function_param_name"]("main", 1) == "flag"
    with pytest.raises(ValueError, match="index < 2"):
        vm["get_function_param_name"]("main", 2)
    vm["save_function"]("main", "again", True, X, True)
    np.testing.assert_array_equal(vm["again"]().numpy(), [13, 26])
    assert vm.time_evaluator("invoke_stateful", tvm.cpu(), number=1)("main").mean > 0
    assert len(vm.profile("main").calls) == 3  # on the arguments that are set


def test_signatures() -> None:
    found = machine().signature("main")
    assert [p.name for p in found.params] == ["x", "flag"]
    assert found.results[0].dtype == "int64"


def test_instruments_see_and_skip_calls() -> None:
    vm = machine()
    seen: list[tuple[str, bool]] = []

    def watch(func: object, name: str, before: bool, result: object, *args: object) -> int:
        seen.append((name, before))
        skip = name == "add" and before
        return VMInstrumentReturnKind.SKIP_RUN if skip else VMInstrumentReturnKind.NO_OP

    vm.set_instrument(watch)
    assert vm["main"](X, True) is None
    assert ("scale", True) in seen
    assert ("add", True) in seen
    assert ("add", False) not in seen
    vm.set_instrument(None)
    np.testing.assert_array_equal(vm["main"](X, True).numpy(), [13, 26])


def test_profiles_of_bytecode_have_a_row_a_call() -> None:
    report = machine().profile("main", X, True)
    names = [call["Name"] for call in report.calls]
    assert names == ["vm.builtin.read_if_cond", "scale", "add"]
    assert report.calls[1]["Sources"] == "Mul_0"
    assert report.calls[1]["Count"] == Count(1)
    assert sum(call["Percent"].percent for call in report.calls) == pytest.approx(100)


def test_profiles_of_native_code_read_its_clock() -> None:
    def timed(clock: object, x: object) -> None:
        np.from_dlpack(clock)[:] += [1000, 2000, 6000, 3, 1]

    functions = Table(**{"main": lambda x: x, "main.profile": timed})
    made = Artefact(
        functions=(FunctionInfo("main", (), ()),),
        kernels=(KernelInfo("conv", ("Conv_0", "Relu_0")), KernelInfo("add")),
        profile_calls={"main": (0, 1)},
    )
    report = VirtualMachine(VMModule(made, functions)).profile("main", X)
    rows = [
        (c["Name"], c["Duration (us)"].microseconds, c["Count"].value, c["Sources"])
        for c in report.calls
    ]
    assert rows == [("conv", 2.0, 3, "Conv_0, Relu_0"), ("add", 6.0, 1, "")]


def _timed(clock: list[int], readings: int = 0) -> VirtualMachine:
    """A machine of native code whose clock says so."""

    def timed(times: object, x: object) -> None:
        np.from_dlpack(times)[: len(clock)] = clock

    made = Artefact(
        functions=(FunctionInfo("main", (), ()),),
        kernels=(KernelInfo("conv"), KernelInfo("add")),
        profile_calls={"main": (0, 1, 0)},
        profile_readings={"main": readings} if readings else {},
    )
    return VirtualMachine(VMModule(made, Table(**{"main": lambda x: x, "main.profile": timed})))


def test_laps_are_counted_back_from_the_last_reading() -> None:
    laps = _timed([9000, 2000, 0, 3000, 1, 0, 1]).laps("main", X)
    assert laps == [Lap("conv", 0, 4000, 6000), Lap("conv", 2, 6000, 9000)]


def test_laps_of_loops_are_what_was_read() -> None:
    readings = [4, 0, 100, 1, 150, 2, 190, 1, 250]
    laps = _timed([250, 50, 100, 0, 1, 2, 0, *readings], 8).laps("main", X)
    assert laps == [Lap("conv", 0, 100, 150), Lap("add", 1, 150, 190), Lap("conv", 0, 190, 250)]


def test_laps_of_bytecode_and_of_whole_functions() -> None:
    laps = machine().laps("main", X, True)
    assert [lap.name for lap in laps] == ["vm.builtin.read_if_cond", "scale", "add"]
    assert all(one.start_ns <= one.end_ns <= two.start_ns for one, two in pairwise(laps))
    made = Artefact(functions=(FunctionInfo("main", (), ()),))
    (lap,) = VirtualMachine(VMModule(made, Table(main=lambda x: x))).laps("main", X)
    assert (lap.name, lap.number) == ("main", 0)


def test_native_functions_are_handed_out_as_they_are() -> None:
    functions = Table(main=lambda x: x)
    made = Artefact(functions=(FunctionInfo("main", (), ()),))
    vm = VirtualMachine(VMModule(made, functions))
    assert vm["main"] is functions["main"]
    assert [call["Name"] for call in vm.profile("main", X).calls] == ["main"]
    with pytest.raises(TVMError, match="a program without bytecode"):
        vm.set_instrument(print)
    vm.module.bytecode_form = lambda: machine().module
    seen: list[str] = []
    vm.set_instrument(lambda func, name, *rest: seen.append(name))
    np.testing.assert_array_equal(vm["main"](X, True).numpy(), [13, 26])
    assert "add" in seen


def test_measuring() -> None:
    measure = machine().time_evaluator("main", tvm.cpu(), number=2, repeat=3)
    assert len(measure(X, True).results) == 3


def test_what_it_is_made_of_is_checked() -> None:
    with pytest.raises(ValueError, match="found: a table module"):
        VirtualMachine(Table(), tvm.cpu())
    with pytest.raises(ValueError, match="found: int"):
        VirtualMachine(3)  # type: ignore[arg-type]
    module = VMModule(Artefact(), Table())
    with pytest.raises(TypeError, match="a device, or a list of them"):
        VirtualMachine(module, "cpu")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="legal: naive, pooled"):
        VirtualMachine(module, tvm.cpu(), memory_cfg="huge")
    assert VirtualMachine(module, [tvm.ext_dev()]).devices == [tvm.ext_dev(), tvm.cpu()]
    with pytest.raises(TVMError, match="found: no such device on this machine"):
        VirtualMachine(module, tvm.cuda(7))

"""ExecBuilder: programs written instruction by instruction."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.relax.exec_builder import SpecialReg, VMFuncKind, no_kernels

pytestmark = pytest.mark.cpu


@tvm.register_global_func("test.exec.add", override=True)
def _add(a: object, b: object) -> object:
    return tvm.runtime.tensor(a.numpy() + b.numpy())  # type: ignore[attr-defined]


@tvm.register_global_func("test.exec.mul", override=True)
def _mul(a: object, b: object) -> object:
    return tvm.runtime.tensor(a.numpy() * b.numpy())  # type: ignore[attr-defined]


@tvm.register_global_func("test.exec.plus", override=True)
def _plus(a: int, b: int) -> int:
    return a + b


A, B = np.array([1.0, 2.0], "float32"), np.array([3.0, 5.0], "float32")


def _run(ib: relax.ExecBuilder, name: str, *args: object) -> object:
    return relax.VirtualMachine(ib.get(), tvm.cpu())[name](*args)


def _two_calls(ib: relax.ExecBuilder, first: int, second: int) -> None:
    with ib.function("func0", num_inputs=2):
        ib.emit_call("test.exec.add", args=[ib.r(0), ib.r(1)], dst=ib.r(first))
        ib.emit_call("test.exec.mul", args=[ib.r(1), ib.r(first)], dst=ib.r(second))
        ib.emit_ret(ib.r(second))


def test_programs_run() -> None:
    ib = relax.ExecBuilder()
    _two_calls(ib, 2, 3)
    np.testing.assert_array_equal(_run(ib, "func0", A, B).numpy(), (A + B) * B)  # type: ignore[attr-defined]


def test_registers_are_renumbered() -> None:
    texts = []
    for first, second in ((2, 3), (100, 50)):
        ib = relax.ExecBuilder()
        _two_calls(ib, first, second)
        texts.append((ib.get().as_text(), ib.get().as_python()))
    assert texts[0] == texts[1]


def test_a_register_that_nothing_sets() -> None:
    ib = relax.ExecBuilder()
    with ib.function("func0", num_inputs=2):
        ib.emit_call("test.exec.add", args=[ib.r(0), ib.r(2)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    with pytest.raises(TVMError, match=r"register %2 of 'func0'"):
        ib.get()


def test_numbers_may_be_negative() -> None:
    ib = relax.ExecBuilder()
    with ib.function("main", num_inputs=1):
        ib.emit_call("test.exec.plus", args=[ib.imm(-3), ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    assert _run(ib, "main", 1) == -2


def test_equal_constants_are_kept_once() -> None:
    ib = relax.ExecBuilder()
    with ib.function("main", num_inputs=1):
        assert ib.convert_constant("a") == ib.convert_constant("a")
        shape = tvm.runtime.ShapeTuple
        assert ib.convert_constant(shape([1, 2])) == ib.convert_constant(shape([1, 2]))
        assert ib.convert_constant(shape([1, 2])) != ib.convert_constant(shape([1, 3]))
        tensors = [tvm.runtime.tensor(np.array([1, 2, 3], "int32")) for _ in range(2)]
        assert ib.convert_constant(tensors[0]) == ib.convert_constant(tensors[1])
        assert ib.convert_constant(1) == ib.imm(1) != ib.convert_constant(True)
        array = np.full(2, 7.0, "float32")
        assert ib.convert_constant(array) == ib.convert_constant(tvm.runtime.tensor(array))
        assert ib.convert_constant(tvm.DataType("int8")) != ib.convert_constant(
            tvm.DataType("int8")
        )
        ib.emit_ret(ib.r(0))
    assert len(ib.get().mod.constants) == 2


@pytest.mark.parametrize(("taken", "wanted"), [(True, A + B), (False, A * B)])
def test_jumps(taken: bool, wanted: object) -> None:
    ib = relax.ExecBuilder()
    with ib.function("main", num_inputs=3):
        ib.emit_if(ib.r(0), 3)
        ib.emit_call("test.exec.add", args=[ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_goto(2)
        ib.emit_call("test.exec.mul", args=[ib.r(1), ib.r(2)], dst=ib.r(3))
        ib.emit_ret(ib.r(3))
    np.testing.assert_array_equal(_run(ib, "main", taken, A, B).numpy(), wanted)  # type: ignore[attr-defined]


def test_storage_shapes_and_types() -> None:
    ib = relax.ExecBuilder()
    dtype = tvm.DataType("float32")
    with ib.function("main", num_inputs=0):
        ib.emit_call("vm.builtin.alloc_storage",
                     args=[ib.vm_state(), (96,), ib.imm(0), dtype, ib.convert_constant("global")],
                     dst=ib.r(1))  # fmt: skip
        ib.emit_call("vm.builtin.alloc_tensor", args=[ib.r(1), ib.imm(0), (4, 6), dtype],
                     dst=ib.r(2))  # fmt: skip
        ib.emit_call("vm.builtin.shape_of", args=[ib.r(2)], dst=ib.r(3))
        ib.emit_call("vm.builtin.make_tuple", args=[ib.r(2), ib.r(3)], dst=ib.r(4))
        ib.emit_ret(ib.r(4))
    made, shape = _run(ib, "main")  # type: ignore[misc]
    assert (tuple(made.shape), str(made.dtype)) == ((4, 6), "float32")
    assert isinstance(shape, tvm.runtime.ShapeTuple)
    assert shape == (4, 6)


def test_functions_call_each_other_and_make_closures() -> None:
    ib = relax.ExecBuilder()
    ib.declare_function("main", VMFuncKind.VM_FUNC)
    with ib.function("lifted", num_inputs=2, param_names=["x", "captured"]):
        ib.emit_call("test.exec.add", args=[ib.r(0), ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("main", num_inputs=1):
        ib.emit_call("vm.builtin.make_closure", args=[ib.vm_state(), ib.f("lifted"), ib.r(0)],
                     dst=ib.r(1))  # fmt: skip
        ib.emit_ret(ib.r(1))
    with ib.function("twice", num_inputs=1):
        ib.emit_call("lifted", args=[ib.r(0), ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    vm = relax.VirtualMachine(ib.get(), tvm.cpu())
    closure = vm["main"](A)
    np.testing.assert_array_equal(vm.invoke_closure(closure, B).numpy(), A + B)
    np.testing.assert_array_equal(vm["twice"](A).numpy(), A * 2)


def test_special_registers() -> None:
    ib = relax.ExecBuilder()
    assert ib.r(SpecialReg.VOID_ARG) == ib.void_arg()
    assert ib.r(SpecialReg.VM_STATE) == ib.vm_state()


def test_misuse_is_refused() -> None:
    ib = relax.ExecBuilder()
    with pytest.raises(ValueError, match="no function is open"):
        ib.emit_ret(ib.r(0))
    with pytest.raises(ValueError, match="2 names of parameters"):
        ib.function("main", 1, ["a", "b"])
    for make in (ib.r, ib.imm, ib.c):
        with pytest.raises(TypeError, match="a whole number"):
            make("1")
    with ib.function("main", num_inputs=1):
        with pytest.raises(TVMError, match="'main' is open"):
            ib.function("other")
        with pytest.raises(TypeError, match="a constant"):
            ib.convert_constant(object())
        ib.emit_ret(ib.r(0))
    with pytest.raises(TVMError, match="it is written already"):
        ib.function("main", 1)


def test_constants_travel_in_files(tmp_path: object) -> None:
    ib = relax.ExecBuilder()
    with ib.function("main", num_inputs=1):
        table = ib.convert_constant(tvm.runtime.tensor(B))
        ib.emit_call("test.exec.add", args=[ib.r(0), table], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    path = f"{tmp_path}/program.so"
    ib.get().export_library(path)
    vm = relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
    np.testing.assert_array_equal(vm["main"](A).numpy(), A + B)


def test_what_one_program_imports_is_not_in_another() -> None:
    first, second = no_kernels(), no_kernels()
    first.import_module(no_kernels())
    assert (len(first.imports), len(second.imports)) == (1, 0)


def test_rejects_a_register_that_is_read_before_it_is_set() -> None:
    ib = relax.ExecBuilder()
    with ib.function("main", num_inputs=2):
        ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(2)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with pytest.raises(TVMError, match="instruction 0 reads it, and nothing before sets it"):
        ib.get()


@pytest.mark.cpu
def test_closures_know_their_machine_and_libraries_their_text(tmp_path) -> None:
    ib = relax.ExecBuilder()
    with ib.function("second", num_inputs=2):
        ib.emit_call("vm.builtin.copy", args=[ib.r(1)], dst=ib.r(2))
        ib.emit_ret(ib.r(2))
    with ib.function("main", num_inputs=1):
        ib.emit_call("vm.builtin.make_closure", args=[ib.f("second"), ib.r(0)], dst=ib.r(1))
        ib.emit_ret(ib.r(1))
    executable = ib.get()
    vm = relax.VirtualMachine(executable, tvm.cpu())
    held, given = (tvm.runtime.tensor(np.full(2, value, "float32")) for value in (1, 2))
    assert vm.invoke_closure(vm["main"](held), given).numpy().tolist() == [1, 1]
    path = str(tmp_path / "program.so")
    executable.export_library(path)
    loaded = tvm.runtime.load_module(path)
    for name in ("as_text", "as_python", "stats"):
        assert loaded[name]() == getattr(executable, name)()


@pytest.mark.parametrize("kind", ["nothing", "goto 0", "if 0", "if 1"])
def test_rejects_jumps_to_where_they_are(kind: str) -> None:
    ib = relax.ExecBuilder()
    with ib.function("main", num_inputs=1):
        if kind == "goto 0":
            ib.emit_goto(0)
        elif kind != "nothing":
            ib.emit_if(ib.r(0), int(kind[-1]))
        if kind != "nothing":
            ib.emit_ret(ib.r(0))
    words = "no instructions" if kind == "nothing" else "jump of instruction 0"
    with pytest.raises(TVMError, match=words):
        ib.get()

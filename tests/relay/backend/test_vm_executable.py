"""Programs of the virtual machine: saved, loaded and looked into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.runtime.vm import Executable, VirtualMachine

pytestmark = pytest.mark.cpu

LISTS = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @sum(%xs: List[int32]) -> int32 {
  match (%xs) { Cons(%x, %rest) => add(%x, @sum(%rest)), Nil => 0 }
}
def @main(%n: int32) -> int32 { @sum(Cons(%n, Cons(2, Nil))) }
"""


def tensors() -> Any:
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    weight = relay.const(np.array([1, 2, 3], "float32"))
    return tvm.IRModule.from_expr(relay.Function([x, y], relay.add(relay.multiply(x, weight), y)))


def through_files(program: Any, folder: Path) -> Any:
    code, lib = program.save()
    assert isinstance(code, bytearray)
    lib.export_library(str(folder / "lib.so"))
    (folder / "code.ro").write_bytes(code)
    loaded = tvm.runtime.load_module(str(folder / "lib.so"))
    return Executable.load_exec(bytearray((folder / "code.ro").read_bytes()), loaded)


def test_a_compiled_program(tmp_path: Path) -> None:
    program = relay.vm.compile(tensors(), "llvm")
    x, y = np.ones(3, "float32"), np.full(3, 0.5, "float32")
    again = through_files(program, tmp_path)
    for each in (program, again):
        machine = VirtualMachine(each, tvm.cpu())
        np.testing.assert_array_equal(machine.run(x, y).numpy(), [1.5, 2.5, 3.5])
        np.testing.assert_array_equal(machine.invoke("main", y=y, x=x).numpy(), [1.5, 2.5, 3.5])
        assert each.get_function_params("main") == ["x", "y"]
        assert each.globals == ["main"]
        assert each.primitive_ops
        assert "VM Const[2]: NDArray[(3),float32,(1,0)] on device index 0" in each.constants
        assert 'Globals (#1): [("main", 0)]' in each.stats
        assert "VM Function[0]: main(x, y)" in each.bytecode
        assert "VM PackedFunc[0]: vm_mod_fused_multiply_add" in each.primitives
    assert program.mod is program.lib is program.module


def test_a_program_without_kernels(tmp_path: Path) -> None:
    program = relay.vm.compile(relay.parse(LISTS), "llvm")
    for each in (program, through_files(program, tmp_path)):
        assert VirtualMachine(each, tvm.cpu()).run(40).numpy() == 42
        assert sorted(each.globals) == ["main", "sum"]
        assert "match" in each.bytecode


def test_what_is_no_program() -> None:
    _, lib = relay.vm.compile(tensors(), "llvm").save()
    with pytest.raises(TypeError, match=r"bytecode is expected to be the type of bytearray"):
        Executable.load_exec(3, lib)
    with pytest.raises(TypeError, match=r"lib is expected to be the type of tvm\.runtime\.Module"):
        Executable.load_exec(b"{}", 3)
    for text in (b"\xff", b"{}", b"[1]"):
        with pytest.raises(TVMError, match="no saved program"):
            Executable.load_exec(text, lib)
    with pytest.raises(TVMError, match="format 'other'"):
        Executable.load_exec(b'{"format": "other"}', lib)
    with pytest.raises(TVMError, match="legal: main"):
        relay.vm.compile(tensors(), "llvm").get_function_params("other")


def test_inputs_one_by_one_and_outputs_in_place() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    program = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x, y], x - y)), "llvm")
    machine = tvm.runtime.vm.VirtualMachine(program, tvm.cpu())
    three, one, out = np.full(2, 3, "float32"), np.ones(2, "float32"), tvm.nd.empty((2,))
    machine.set_one_input("main", 0, three)
    machine.set_one_input("main", "y", one)
    machine.set_outputs("main", out)
    machine.invoke_stateful("main")
    assert out.numpy().tolist() == machine.get_outputs()[0].numpy().tolist() == [2, 2]
    machine.set_one_input("main", y=three)
    assert machine.run().numpy().tolist() == [0, 0]
    assert (machine.get_input_index("y"), machine.get_input_index("z")) == (1, -1)
    assert program.get_function_arity("main") == 2
    for wrong in ((2, one), ("z", one)):
        with pytest.raises(tvm.TVMError, match=r"no input .* of main\n  legal: x, y"):
            machine.set_one_input("main", *wrong)
    with pytest.raises(tvm.TVMError, match="an index or name with its value"):
        machine.set_one_input("main", one)


def test_an_exported_library_runs_on_the_machine_of_relay(tmp_path: Path) -> None:
    x, y = np.ones(3, "float32"), np.full(3, 0.5, "float32")
    program = relay.vm.compile(tensors(), "llvm")
    path = str(tmp_path / "lib.so")
    program.mod.export_library(path)
    for library in (program.mod, tvm.runtime.load_module(path)):
        machine = VirtualMachine(library, tvm.cpu())
        assert isinstance(machine, relay.backend.vm.CompiledMachine)
        np.testing.assert_array_equal(machine.run(x, y=y).numpy(), [1.5, 2.5, 3.5])
        machine.set_input("main", y=y, x=x)
        np.testing.assert_array_equal(machine.run().numpy(), [1.5, 2.5, 3.5])
        assert machine.get_input_index("y") == 1
        with pytest.raises(TVMError, match="function 'other'"):
            machine.get_input_index("y", "other")
    plain = tvm.relax.build(relay.backend.compiled.to_relax(tensors(), "main"), "llvm")
    assert type(VirtualMachine(plain, tvm.cpu())) is VirtualMachine


def test_results_go_into_tensors_of_users() -> None:
    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    machine = tvm.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    out = tvm.nd.array(np.zeros(3, "float32"))
    machine.invoke_with_outputs("main", {"x": np.ones(3, "float32")}, [out])
    np.testing.assert_array_equal(out.numpy(), np.full(3, 2, "float32"))

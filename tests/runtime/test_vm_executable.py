"""Executables of graphs: what they say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.runtime.test_artefact import ARTEFACT
from tests.runtime.test_module import Table
from tvm import relax
from tvm.runtime import tensor
from tvm.runtime.artefact import Artefact
from tvm.runtime.vm_executable import VMExecutable, VMModule

pytestmark = pytest.mark.pure


def executable() -> VMExecutable:
    return VMExecutable(
        VMModule(ARTEFACT, Table(main=abs), (tensor(np.zeros(10, "float32")),))
    )


def test_texts() -> None:
    made = executable()
    assert "\n@main:\n  If    %1, 3\n" in made.as_text()
    assert 'ib.function("main", num_inputs=2' in made.as_python()
    assert made.stats() == (
        "Relax VM executable statistics:\n"
        '  Constant pool (# 6): [1.5, shapetuple[2, 3], float32, [10], "text", True]\n'
        '  Globals (#3): [kernel, vm.builtin.copy, main]\n'
    )
    calls = "@main native:\n  call  conv\n  call  add\n  call  conv\n\n@"
    assert made.as_text().startswith(calls)
    plain = VMExecutable(VMModule(Artefact(), Table()))
    assert plain.as_text() == plain.as_python() == ""


def test_the_module_finds_the_kernels_functions() -> None:
    made = executable()
    assert isinstance(made.mod, VMModule)
    assert made.mod.function_names() == ["main"]
    assert made["main"] is abs
    assert made.mod.entry_func is abs
    assert made.mod.imports == [made.mod.kernels]
    assert VMExecutable(made.mod).artefact is ARTEFACT


def test_programs_run_by_their_module() -> None:
    code = relax.ExecBuilder()
    with code.function("twice", num_inputs=1):
        code.emit_ret(code.r(0))
    made = code.get()
    assert made.mod["twice"](7) == 7  # by a machine of the module's own
    vm = relax.VirtualMachine(made, tvm.cpu())
    vm.module["set_input"]("twice", 8)
    vm.module["invoke_stateful"]("twice")
    assert vm.get_outputs("twice") == vm.module["get_output"]("twice") == 8
    loaded = made.mod["vm_load_executable"]()
    loaded["vm_initialization"](tvm.cpu().device_type, 0, 2)
    assert loaded["twice"](9) == 9
    with pytest.raises(TypeError, match="naive, pooled, or one of them for each device"):
        relax.VirtualMachine(made, tvm.cpu(), memory_cfg=3)

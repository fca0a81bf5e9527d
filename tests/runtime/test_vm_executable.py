"""Executables of graphs: what they say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.test_artefact import ARTEFACT
from tests.runtime.test_module import Table
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
    assert made.as_text().startswith("@main(x, flag):\n")
    assert 'ib.function("main", num_inputs=2' in made.as_python()
    assert "functions: main" in made.stats()
    assert "constants: 1, 40 bytes" in made.stats()
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

"""Modules of shared libraries, made here with a C compiler or by export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.runtime.test_export import needs_cc, program
from tvm.error import TVMError
from tvm.runtime import VirtualMachine, load_module, tensor
from tvm.runtime.artefact import Artefact, FunctionInfo, ValueInfo
from tvm.runtime.library_module import LibraryModule
from tvm.runtime.linker import create_shared
from tvm.runtime.vm_executable import VMExecutable, VMModule

pytestmark = [pytest.mark.cpu, needs_cc]


def test_libraries_of_others_can_be_called(tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.write_text(
        "typedef struct { int index, pad; long value; } Any;\n"
        "int __tvm_ffi_one(void* self, Any* args, int n, Any* out) "
        "{ out->index = 1; out->value = args[0].value + 1; return 0; }\n"
    )
    create_shared(str(tmp_path / "one.so"), str(source))
    module = load_module(tmp_path / "one.so")
    assert module["one"](41) == 42
    assert module.function_names() == []
    with pytest.raises(AttributeError, match="no function 'two'"):
        module["two"]


def test_symbols_and_constants(tmp_path: Path) -> None:
    path = tmp_path / "program.so"
    program().export_library(path)
    module = load_module(path)
    assert isinstance(module, LibraryModule)
    assert module.symbol("no_such_symbol") is None
    with pytest.raises(TVMError, match="the library lacks it"):
        module.tensor(ValueInfo("missing", (1,), "float32"))


def test_compiled_graphs_come_back_with_their_constants(tmp_path: Path) -> None:
    weights = np.arange(10, dtype="float32")
    artefact = Artefact(
        functions=(FunctionInfo("f", (ValueInfo("B", (64,), "float32"),), ()),), entry="f"
    )
    executable = VMExecutable(
        VMModule(artefact, program(), (tensor(weights), tensor(np.ones(2, "int8"))))
    )
    for name in ("program.so", "program.tar"):
        executable.export_library(tmp_path / name)
        loaded = load_module(tmp_path / name)
        assert isinstance(loaded, VMModule)
        assert loaded.artefact.function("f") == artefact.functions[0]
        np.testing.assert_array_equal(loaded.constants[0].numpy(), weights)
        assert loaded.constants[0].data_ptr() % 64 == 0
        np.testing.assert_array_equal(loaded.constants[1].numpy(), [1, 1])
        out = tensor(np.zeros(64, "float32"))
        VirtualMachine(loaded)["f"](out)
        assert out.numpy().any()


def test_another_program_of_the_same_name_is_loaded_anew(tmp_path: Path) -> None:
    """The system's loader would give the first one again, for as long as the process lives."""
    source = tmp_path / "answer.c"
    path = tmp_path / "answer.so"
    modules = []
    for answer in (1, 2, 2, 3):
        source.write_text(
            "typedef struct { int index, pad; long value; } Any;\n"
            "int __tvm_ffi_answer(void* self, Any* args, int n, Any* out) "
            f"{{ out->index = 1; out->value = {answer}; return 0; }}\n"
        )
        create_shared(str(tmp_path / "new.so"), str(source))
        (tmp_path / "new.so").rename(path)
        modules.append(load_module(path))
        again = load_module(path)
        assert again["answer"]() == answer
    assert [module["answer"]() for module in modules] == [1, 2, 2, 3]

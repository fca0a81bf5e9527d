"""The description that travels with a program."""

from __future__ import annotations

import pytest

from tests.runtime.test_bytecode import CODE
from tvm.error import TVMError
from tvm.runtime.artefact import FORMAT, Artefact, FunctionInfo, KernelInfo, ValueInfo

pytestmark = pytest.mark.pure

ARTEFACT = Artefact(
    functions=(
        FunctionInfo(
            "main", (ValueInfo("x", ("n", 8), "float32"),), (ValueInfo("y", (), "int64"),)
        ),
    ),
    kernels=(KernelInfo("conv", ("Conv_0", "Relu_1")), KernelInfo("add")),
    profile_calls={"main": (0, 1, 0)},
    profile_readings={"main": 64},
    bytecode=CODE,
    exports=("main", "main.profile"),
    tensors=(ValueInfo("__tvm_tensor_0", (3,), "float32"),),
    kind="relax.VMExecutable",
    entry="main",
)


def test_it_comes_back_as_it_was() -> None:
    assert Artefact.from_json(ARTEFACT.to_json()) == ARTEFACT
    assert Artefact.from_json(Artefact().to_json()) == Artefact()


def test_functions_are_found_by_name() -> None:
    found = ARTEFACT.function("main")
    assert found is not None
    assert found.params[0].shape == ("n", 8)
    assert ARTEFACT.function("other") is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", f'{{"format": {FORMAT}}}', "nonsense"])
def test_damaged_descriptions_are_refused(text: str) -> None:
    with pytest.raises(TVMError, match="load a compiled program\n  found: damaged description"):
        Artefact.from_json(text)


def test_other_formats_are_refused() -> None:
    text = ARTEFACT.to_json().replace(f'"format":{FORMAT}', '"format":99')
    with pytest.raises(TVMError, match=f"legal: format {FORMAT}; compile the program again"):
        Artefact.from_json(text)

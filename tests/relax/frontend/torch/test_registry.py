"""How converters are found, without torch; and how much of torch they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvm.relax.frontend.torch.registry import convert, functions, modules, spellings


def test_spellings() -> None:
    assert list(spellings("relu_.default")) == ["relu_.default", "relu_", "relu.default", "relu"]
    assert list(spellings("__and__.Tensor")) == ["__and__.Tensor", "__and__"]
    assert list(spellings("add")) == ["add"]


def test_a_name_is_declared_once() -> None:
    assert "relu" in functions()
    with pytest.raises(AssertionError, match="relu is declared twice"):
        convert("relu")(lambda bb, x: x)


def test_there_are_many() -> None:
    assert len(functions()) > 550
    assert len(modules()) > 100


def test_torch_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from tvm.relax.frontend.torch import from_fx\n"
        "from tvm.relax.frontend.torch.registry import functions, modules\n"
        "assert functions() and modules()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_core_operators_of_torch() -> None:
    torch = pytest.importorskip("torch")
    missing = set()
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            core = torch.Tag.core in getattr(packet, overload).tags
            if core and not any(s in functions() for s in spellings(f"{name}.{overload}")):
                missing.add(name)
    # gradients, random numbers, what needs complex numbers, other sizes in the same memory
    allowed = {"_fft_c2r", "_fft_r2c", "rand", "randn", "randperm", "resize_"}
    assert {name for name in missing if not name.endswith("_backward")} <= allowed

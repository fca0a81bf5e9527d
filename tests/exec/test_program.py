"""What commands read, told by the suffix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tests.exec.test_tune import PROGRAM
from tvm.exec.command import Mistake
from tvm.exec.program import read_program
from tvm.relax.expr import Function
from tvm.tir.function import PrimFunc

pytestmark = pytest.mark.cpu

RELAY = """
def @main(%x: Tensor[(2, 3), float32]) {
  nn.relu(%x)
}
"""
STABLEHLO = """
module @twice {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""


@pytest.mark.parametrize("suffix", [".py", ".tvm"])
def test_tvmscript(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"twice{suffix}"
    path.write_text(PROGRAM)
    assert isinstance(read_program(path)["twice"], PrimFunc)


@pytest.mark.parametrize("head", ["", '#[version = "0.0.5"]\n'])
def test_relay_text(tmp_path: Path, head: str) -> None:
    path = tmp_path / "relu.relay"
    path.write_text(head + RELAY)
    mod = read_program(path)
    assert isinstance(mod["main"], Function)
    vm = tvm.relax.VirtualMachine(tvm.compile(mod), tvm.cpu())
    x = np.array([[-1, 2, -3], [4, -5, 6]], "float32")
    np.testing.assert_array_equal(vm["main"](x).numpy(), np.maximum(x, 0))


def test_a_saved_module(tmp_path: Path) -> None:
    mod = tvm.script.from_source(PROGRAM)
    path = tmp_path / "twice.json"
    path.write_text(tvm.ir.save_json(mod))
    tvm.ir.assert_structural_equal(read_program(path), mod)


def test_stablehlo(tmp_path: Path) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "twice.mlir"
    path.write_text(STABLEHLO)
    assert "R.add" in read_program(path).script()


def test_an_exported_program(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.zeros(2, 3),)), path)
    assert "R.nn.relu" in read_program(path).script()


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("net.h5", b"", "suffix '.h5'"),
        ("net.json", b"{", "what tvm.ir.save_json writes"),
        ("net.py", b"\xff\xfe", "invalid start byte"),
        ("net.pt2", b"no archive", "net.pt2"),
        ("gone.py", None, "no 'gone.py' in directory"),
    ],
)
def test_what_cannot_be_read(
    tmp_path: Path, name: str, content: bytes | None, found: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    if name.endswith(".pt2"):
        pytest.importorskip("torch")
    with pytest.raises(Mistake, match="cannot read the program") as error:
        read_program(path)
    assert found in str(error.value)


def test_only_onnx_has_shapes_to_fix(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(PROGRAM)
    with pytest.raises(Mistake, match="its shapes are its own"):
        read_program(path, "x:[1]")

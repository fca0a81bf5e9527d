"""An unchanged file is neither read nor compiled again; whatever decides the result counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.exec import compile as command
from tvm.exec import kept_library
from tvm.exec.cli import main

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.cpu

SIDE = 40


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small network in a file, and a cache of its own that keeps whatever is compiled."""
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("tvm.relax.vm_build._WORTH_KEEPING_SECONDS", 0.0)
    path = tmp_path / "model.onnx"
    write(path, scale=2.0)
    return path


def write(path: Path, scale: float, beside: str | None = None) -> None:
    text = '''
    <ir_version: 8, opset_import: ["" : 17]>
    main (float[n, 40] x) => (float[n, 40] y) { product = MatMul (x, w)  y = Relu (product) }
    '''
    made = onnx.parser.parse_model(text)
    weight = np.eye(SIDE, dtype="float32") * np.float32(scale)
    made.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    kept: dict[str, Any] = {}
    if beside is not None:
        kept = {"save_as_external_data": True, "location": beside, "size_threshold": 0}
        path.with_name(beside).unlink(missing_ok=True)
    onnx.save(made, path, **kept)


def compiled(path: Path, *words: str) -> tuple[bool, float]:
    """Whether the file was read, and what the library makes of 1."""
    read: list[Path] = []

    def reader(*given: Any) -> Any:
        read.append(given[0])
        return original(*given)

    original = command.read_program
    command.read_program = reader
    try:
        output = path.with_suffix(".so")
        assert main(["compile", str(path), "-o", str(output), *words]) == 0
    finally:
        command.read_program = original
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(output)), tvm.cpu())
    return bool(read), float(machine["main"](np.ones((1, SIDE), "float32")).numpy()[0, 0])


def test_an_unchanged_file_is_not_read(model: Path) -> None:
    assert compiled(model) == (True, 2.0)
    assert compiled(model) == (False, 2.0)
    assert compiled(model) == (False, 2.0)


def test_what_is_told_of_it_is_the_same(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for _ in range(2):
        assert main(["compile", "--json", str(model), "-o", str(model.with_suffix(".so"))]) == 0
        told.append(json.loads(capsys.readouterr().out))
    first, second = told
    assert "compile" in first.pop("seconds")
    assert "compile" not in second.pop("seconds")
    assert first == second
    assert first["inputs"] == [{"name": "x", "shape": ["n", 40], "dtype": "float32"}]


def test_other_bytes_are_another_program(model: Path) -> None:
    assert compiled(model) == (True, 2.0)
    write(model, scale=3.0)
    assert compiled(model) == (True, 3.0)
    write(model, scale=2.0)
    assert compiled(model) == (False, 2.0)


@pytest.mark.parametrize(
    "words",
    [
        ["--opt-level", "0"],
        ["--target", "llvm -num-cores=1"],
        ["--input-shapes", "x:[1,40]"],
        ["--shapes", "x:1,40;2,40"],
    ],
)  # fmt: skip
def test_what_is_asked_for_counts(model: Path, words: list[str]) -> None:
    assert compiled(model) == (True, 2.0)
    assert compiled(model, *words) == (True, 2.0)
    assert compiled(model, *words) == (False, 2.0)


def test_the_name_of_the_file_does_not(model: Path) -> None:
    assert compiled(model) == (True, 2.0)
    other = model.with_name("other.onnx")
    other.write_bytes(model.read_bytes())
    assert compiled(other) == (False, 2.0)


def test_files_beside_count(model: Path) -> None:
    long = "weights-" + "w" * 150 + ".bin"      # its length takes two bytes
    for name in ("weights.bin", long):
        write(model, scale=2.0, beside=name)
        assert compiled(model) == (True, 2.0)
        assert compiled(model) == (False, 2.0)
        before = model.read_bytes()
        write(model, scale=5.0, beside=name)
        assert model.read_bytes() == before
        assert compiled(model) == (True, 5.0)


def test_a_file_written_to_meanwhile_is_not_noted(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = command.read_program

    def reader(*given: Any) -> Any:
        write(model, scale=7.0)
        return original(*given)

    with monkeypatch.context() as patched:
        patched.setattr(command, "read_program", reader)
        assert compiled(model) == (True, 7.0)
    write(model, scale=2.0)
    assert compiled(model) == (True, 2.0)


def test_an_unchanged_library_is_not_linked_again(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = model.with_suffix(".so")
    for small in (1 << 22, 0):  # kept as it is, and without its constants
        monkeypatch.setattr(kept_library, "_SMALL", small)
        write(model, scale=2.0 + small)
        assert compiled(model)[0]
        first, mode = output.read_bytes(), output.stat().st_mode
        output.unlink()
        with monkeypatch.context() as patched:
            patched.setattr("tvm.runtime.export.export", lambda *_, **__: pytest.fail("linked"))
            assert compiled(model) == (False, 2.0 + small)
        assert (output.read_bytes(), output.stat().st_mode) == (first, mode)
        archive = model.with_suffix(".tar")  # another form is another file
        assert main(["compile", str(model), "-o", str(archive)]) == 0


def test_an_unchanged_file_needs_no_library_of_ours(model: Path) -> None:
    # both in processes of their own: what else was registered in one counts as part of the question
    code = f"""
import sys
from tvm.exec.cli import main
assert main(["compile", {str(model)!r}, "-o", {str(model.with_suffix(".so"))!r}]) == 0
print(*{{"numpy", "onnx", "tvm_ffi", "tvm.tir", "tvm.relax"}} & {{*sys.modules}}, "none")
"""
    first, second = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert "tvm.relax" in first.stdout.splitlines()[-1]
    assert second.stdout.splitlines()[-1] == "none"


def test_entries_that_are_gone_or_damaged_count_as_none(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_library, "_SMALL", 0)
    assert compiled(model) == (True, 2.0)
    for data in (tmp_path / "cache").rglob("*.data"):
        data.write_bytes(b"\1" * data.stat().st_size)
    assert compiled(model) == (True, 2.0)
    for entry in (tmp_path / "cache").rglob("*.obj"):
        entry.write_bytes(entry.read_bytes()[:-1])
    assert compiled(model) == (True, 2.0)


def test_without_a_cache_nothing_is_noted(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_CACHE", "0")
    assert compiled(model) == (True, 2.0)
    assert compiled(model) == (True, 2.0)


def test_kernels_and_graphs_without_a_main_are_told_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text('''
from tvm.script import tir as T
@T.prim_func
def next_ones(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1
''')
    output = tmp_path / "kernel.so"
    assert main(["compile", str(kernel), "-o", str(output)]) == 0
    assert "  has    next_ones" in capsys.readouterr().out.splitlines()
    out = tvm.runtime.empty((8,), "int32")
    tvm.runtime.load_module(str(output))["next_ones"](
        tvm.runtime.tensor(np.arange(8, dtype="int32")), out
    )
    assert out.numpy().tolist() == list(range(1, 9))
    graph = tmp_path / "graph.py"
    graph.write_text('''
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def double(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        y = R.add(x, x)
        return y
''')
    assert main(["compile", str(graph), "-o", str(tmp_path / "graph.so")]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  has    double", "  takes  x: float32 [n]", "  gives  output: float32 [n]",
    ]  # fmt: skip

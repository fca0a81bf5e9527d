"""Code of others: looked at in a process of its own, damaged files are refused with a reason."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.backend.llvm import foreign_worker, jit
from tvm.error import TVMError
from tvm.runtime import load_module
from tvm.runtime.digest import MARK
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def double(a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32")) -> None:
    for i in range(16):
        b[i] = a[i] * T.float32(2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The code in each of LLVM's forms."""
    folder = tmp_path_factory.mktemp("foreign")
    module = tvm.compile(double, target="llvm").mod
    for form in ("ll", "bc", "o"):
        path = folder / f"double.{form}"
        module.write_to_file(str(path))
        path.write_bytes(path.read_bytes().partition(MARK)[0])  # as others would write it
    return {form: folder / f"double.{form}" for form in ("ll", "bc", "o")}


@pytest.mark.parametrize("form", ["ll", "bc", "o"])
def test_whole_files_run(form: str, files: dict[str, Path]) -> None:
    func = load_module(files[form])["double"]
    given, out = np.arange(16, dtype="float32"), tvm.runtime.empty((16,))
    func(tvm.runtime.tensor(given), out)
    np.testing.assert_array_equal(out.numpy(), given * 2)


@pytest.mark.parametrize("form", ["ll", "bc", "o"])
def test_damaged_files_do_not_end_the_process(
    form: str, files: dict[str, Path], tmp_path: Path
) -> None:
    """They load or are refused; that this test goes on is what is tested."""
    content, numbers = files[form].read_bytes(), random.Random(3)
    for round_number in range(2):
        damaged = bytearray(content)
        damaged[numbers.randrange(len(damaged))] ^= 1 << numbers.randrange(8)
        path = tmp_path / f"damaged{round_number}.{form}"
        path.write_bytes(damaged)
        told = "found: legal: "
        try:
            load_module(path)
        except TVMError as err:
            told = str(err)
        assert "found: " in told
        assert "legal: " in told


def test_code_that_llvm_dies_of_is_refused(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dies.ll"
    # an instruction that no CPU of this kind has: LLVM gives up by ending the process
    path.write_text(
        "declare i32 @llvm.amdgcn.workitem.id.x()\n"
        "define i32 @__tvm_ffi_f(ptr %a, ptr %b, i32 %c, ptr %d) {\n"
        "  %x = call i32 @llvm.amdgcn.workitem.id.x()\n  ret i32 %x\n}\n"
    )
    with pytest.raises(TVMError, match="load_module"):
        load_module(path)
    monkeypatch.setattr(jit, "FOREIGN_SECONDS", 0.01)
    with pytest.raises(TVMError, match=r"takes LLVM more than 0\.01 seconds"):
        load_module(files["bc"])


def test_refusals_are_one_line() -> None:
    command = [sys.executable, "-m", foreign_worker.__name__, "disassemble"]
    done = subprocess.run(command, input=b"not bitcode", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.count(b"\n") == 1

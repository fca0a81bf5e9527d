"""Programs of other toolkits; scripts stand in for those that are not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tvm
from tvm.contrib import emcc, rocm, spirv, tools, xcode

pytestmark = [
    pytest.mark.pure,
    pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell scripts"),
]

# Writes its own command to the file after -o, or prints it.
SCRIPT = """#!/bin/sh
said="$(basename "$0") $*"
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then out=$2; shift; fi
  if [ "$1" = bad ]; then echo "bad input" >&2; exit 1; fi
  if [ "$1" = -find ]; then echo clang; exit 0; fi
  if [ "$1" = --show-sdk-path ]; then echo /kit; exit 0; fi
  shift
done
if [ -n "$out" ]; then echo "$said" > "$out"; else echo "$said"; fi
"""
NAMES = ("clang", "codesign", "emcc", "ld.lld", "spirv-opt", "xcrun")


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in NAMES:
        (tmp_path / name).write_text(SCRIPT)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_runs_or_says_why_not(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tools.run_tool(["emcc", "a", "b"], "Emscripten") == "emcc a b"
    with pytest.raises(RuntimeError, match="emcc bad\n  found: bad input"):
        tools.run_tool(["emcc", "bad"], "Emscripten")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="none on PATH\n  legal: emcc of Emscripten"):
        emcc.create_tvmjs_wasm("out.wasm", "a.bc")
    with pytest.raises(RuntimeError, match="spirv-opt of SPIRV-Tools"):
        spirv.optimize(b"\x03\x02\x23\x07")
    with pytest.raises(RuntimeError, match="xcrun of Xcode"):
        xcode.compile_metal("kernel void f() {}")


def test_emcc(kit: Path) -> None:
    out = kit / "out.wasm"
    emcc.create_tvmjs_wasm(str(out), ["a.bc"], options=["-g"], libs=["runtime.bc"])
    assert out.read_text().endswith(f"-o {out} a.bc runtime.bc -g\n")
    assert getattr(emcc.create_tvmjs_wasm, "object_format") == "bc"  # noqa: B009


def test_spirv(kit: Path) -> None:
    assert spirv.optimize(b"code").startswith(b"spirv-opt -O ")


def test_xcode(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = kit / "lib.dylib"
    xcode.create_dylib(str(out), "a.o", "arm64", min_os_version="14.0")
    wanted = "-dynamiclib -arch arm64 -isysroot /kit -mmacosx-version-min=14.0"
    assert out.read_text() == f"clang {wanted} -o {out} a.o\n"
    kept = kit / "code.metallib"
    made = xcode.compile_metal("kernel void f() {}", path_target=str(kept), sdk="iphoneos")
    assert made == kept.read_bytes()
    assert made.startswith(b"xcrun -sdk iphoneos metallib ")
    with pytest.raises(ValueError, match="legal: macosx, iphoneos, iphonesimulator"):
        xcode.create_dylib(str(out), "a.o", "arm64", sdk="watchos")
    monkeypatch.delenv("TVM_IOS_CODESIGN", raising=False)
    with pytest.raises(RuntimeError, match="no environment variable TVM_IOS_CODESIGN"):
        xcode.codesign(str(out))
    monkeypatch.setenv("TVM_IOS_CODESIGN", "bad")
    with pytest.raises(RuntimeError, match="bad input"):
        xcode.codesign(str(out))


def test_rocm_links(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(kit / "ld.lld") in rocm.find_lld()
    assert b"-shared" in rocm.callback_rocm_link(b"object")
    assert b"-shared" in tvm.get_global_func("tvm_callback_rocm_link")(b"object")
    out = kit / "made.co"
    rocm.rocm_link("a.o", str(out), lld=str(kit / "ld.lld"))
    assert out.read_text() == f"ld.lld -shared a.o -o {out}\n"
    monkeypatch.setattr(rocm, "_USUAL", str(kit / "none"))
    monkeypatch.setenv("PATH", "")
    assert rocm.find_lld(required=False) == []
    with pytest.raises(RuntimeError, match="find lld"):
        rocm.find_lld()


def test_rocm_versions() -> None:
    assert rocm.parse_compute_version("9.0") == (9, 0)
    assert rocm.have_matrixcore("9.0")
    assert not rocm.have_matrixcore("7.0")
    if not tvm.runtime.device("rocm", 0).exist:
        with pytest.raises(RuntimeError, match="no GPU of ROCm here"):
            rocm.have_matrixcore()
    with pytest.raises(RuntimeError, match=r'found: \'gfx\'\n  legal: as "9\.0"'):
        rocm.parse_compute_version("gfx")


def test_rocm_is_found(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rocm.get_rocm_arch(str(kit / "none")) == "gfx900"
    (kit / "bin").mkdir()
    tool = kit / "bin" / "rocminfo"
    tool.write_text("#!/bin/sh\necho '  Name:   CPU'\necho '  Name:   gfx90a'\n")
    tool.chmod(0o755)
    assert rocm.get_rocm_arch(str(kit)) == "gfx90a"
    monkeypatch.setenv("ROCM_PATH", "/some/rocm")
    assert rocm.find_rocm_path() == "/some/rocm"
    monkeypatch.delenv("ROCM_PATH")
    (kit / "bin" / "hipcc").write_text("#!/bin/sh\n")
    (kit / "bin" / "hipcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(kit / "bin"))
    assert rocm.find_rocm_path() == str(kit)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(rocm, "_USUAL", str(kit / "none"))
    with pytest.raises(RuntimeError, match="find ROCm"):
        rocm.find_rocm_path()

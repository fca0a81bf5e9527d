"""Export and load: libraries, objects, archives, constants, other loaders, refusals."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tvm
from tests.backend.llvm.kernel import lowered, packed
from tvm import relax
from tvm.backend.llvm.module import LLVMModule, build
from tvm.contrib import cc
from tvm.error import TVMError
from tvm.ir.type import PointerType, PrimType
from tvm.runtime import linker, load_module, tensor
from tvm.runtime.artefact import Artefact
from tvm.runtime.elf_data import MACHINES
from tvm.runtime.module import Module
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer

pytestmark = pytest.mark.cpu
WEIGHTS = np.random.default_rng(0).normal(size=5000).astype("float32")
needs_cc = pytest.mark.skipif(cc.get_cc() is None, reason="no C compiler to link with")


def program(target: str = "llvm") -> LLVMModule:
    """f(B): B[i] = weights[i], in parallel; the weights are too large for the text."""

    def body(target: Buffer) -> s.Stmt:
        var = e.Var("weights", PointerType(PrimType("float32")))
        weights = Buffer(var, "float32", [5000], name="weights")
        i = e.Var("i", "int32")
        loop = s.For(i, 0, 64, s.ForKind.PARALLEL,
                     s.BufferStore(target, e.BufferLoad(weights, [i]), [i]))  # fmt: skip
        return s.AllocateConst(var, "float32", [5000], WEIGHTS, loop)

    return build(lowered({"f": packed("f", 1, body, "float32")}), target)


def check(module: Module) -> None:
    out = tensor(np.zeros(64, "float32"))
    module["f"](out)
    np.testing.assert_array_equal(out.numpy(), WEIGHTS[:64])
    with pytest.raises(TypeError, match=r"^f: 0 arguments given, legal: 1$"):
        module["f"]()
    assert module.function_names() == ["f"]


@pytest.mark.parametrize("suffix", [pytest.param(".so", marks=needs_cc),
                                    pytest.param(".o", marks=needs_cc), ".tar"])  # fmt: skip
def test_what_is_exported_is_loaded(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"program{suffix}"
    program().export_library(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    check(load_module(path))


def test_without_a_compiler_a_library_is_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linker, "get_cc", lambda: None)
    path = tmp_path / "program.so"
    program().export_library(path)
    check(load_module(path))
    with pytest.raises(TVMError, match="no C compiler to merge"):
        program().export_library(tmp_path / "program.o")


def test_archives_are_the_same_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tar", tmp_path / "b.tar"
    program().export_library(first)
    program().export_library(second)
    assert first.read_bytes() == second.read_bytes()


LOAD_ELSEWHERE = """
import sys, numpy as np, tvm_ffi
module = tvm_ffi.load_module(sys.argv[1])
out = np.zeros(64, "float32")
module.f(tvm_ffi.from_dlpack(out))
print(out.sum(), "tvm" in sys.modules)
"""


@needs_cc
def test_a_library_runs_without_us(tmp_path: Path) -> None:
    path = tmp_path / "program.so"
    program().export_library(path)
    done = subprocess.run(
        [sys.executable, "-c", LOAD_ELSEWHERE, str(path)], capture_output=True, check=True
    )
    total, ours = done.stdout.decode().split()
    assert float(total) == pytest.approx(float(WEIGHTS[:64].sum()), rel=1e-5)
    assert ours == "False"


@needs_cc
def test_running_a_library_needs_no_compiler(tmp_path: Path) -> None:
    path = tmp_path / "program.so"
    program().export_library(path)
    text = (
        "import sys, numpy as np, tvm\n"
        "module = tvm.runtime.load_module(sys.argv[1])\n"
        "module['f'](tvm.runtime.tensor(np.zeros(64, 'float32')))\n"
        "print(sorted(m for m in ('llvmlite', 'tvm.tir', 'tvm.ir') if m in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", text, str(path)], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


@needs_cc
def test_a_c_program_loads_a_library(tmp_path: Path) -> None:
    import tvm_ffi

    library = tmp_path / "program.so"
    program().export_library(library)
    source = tmp_path / "main.c"
    source.write_text(
        """
        #include <dlfcn.h>
        #include <stdio.h>
        #include <tvm/ffi/c_api.h>
        int main(int argc, char** argv) {
          TVMFFIVersion version;
          TVMFFIGetVersion(&version);
          void* lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
          if (!lib) { puts(dlerror()); return 2; }
          TVMFFISafeCallType f = (TVMFFISafeCallType)dlsym(lib, "__tvm_ffi_f");
          TVMFFIAny result = {0};
          int status = f(0, 0, 0, &result);  // no arguments: an error, and no crash
          puts(status == -1 ? "refused" : "taken");
          dlclose(lib);
          return 0;
        }
        """
    )
    include = tvm_ffi.libinfo.include_paths()
    folder = os.path.dirname(tvm_ffi.libinfo.find_libtvm_ffi())
    options = [*[f"-I{p}" for p in include], f"-L{folder}", "-ltvm_ffi", "-ldl",
               f"-Wl,-rpath,{folder}"]  # fmt: skip
    cc.create_executable(str(tmp_path / "main"), [str(source)], options)
    done = subprocess.run([tmp_path / "main", library], capture_output=True, check=True)
    assert done.stdout == b"refused\n"


@needs_cc
def test_two_libraries_share_one_pool(tmp_path: Path) -> None:
    for name in ("a.so", "b.so"):
        program().export_library(tmp_path / name)
    text = (
        "import sys, os, numpy as np, tvm\n"
        "for path in sys.argv[1:]:\n"
        "    module = tvm.runtime.load_module(path)\n"
        "    for _ in range(20): module['f'](tvm.runtime.tensor(np.zeros(64, 'float32')))\n"
        "print(len(os.listdir('/proc/self/task')))\n"
    )
    paths = [str(tmp_path / name) for name in ("a.so", "b.so")]
    counts = []
    for given in (paths[:1], paths):
        done = subprocess.run(
            [sys.executable, "-c", text, *given], capture_output=True, check=True,
            env={**os.environ, "TVM_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        counts.append(int(done.stdout))
    assert counts == [3, 3]


def test_refuses_what_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"suffix '\.exe'"):
        program().export_library(tmp_path / "program.exe")
    with pytest.raises(TVMError, match=r"write '.*missing"):
        program().export_library(tmp_path / "missing" / "program.tar")
    assert not list(tmp_path.iterdir())


def test_code_for_another_machine_needs_its_own_linker(tmp_path: Path) -> None:
    other = "x86_64" if platform.machine() in ("aarch64", "arm64") else "aarch64"
    module = program(f"llvm -mtriple={other}-linux-gnu")
    with pytest.raises(TVMError, match="which the system's compiler cannot link"):
        module.export_library(tmp_path / "program.so")
    module.export_library(tmp_path / "program.tar")
    assert (tmp_path / "program.tar").stat().st_size > WEIGHTS.nbytes


def test_a_linker_of_the_user_gets_all_objects(tmp_path: Path) -> None:
    seen: dict[str, object] = {}

    def collect(output: str, objects: list[str], **kwargs: object) -> str:
        seen.update(output=output, names=[os.path.basename(o) for o in objects], **kwargs)
        return "linked"

    made = program("llvm -mtriple=aarch64-linux-gnu").export_library(
        tmp_path / "program.so", fcompile=collect, options=["-x"], addons=["more.o"]
    )
    assert made == "linked"
    assert seen["names"] == ["kernels.o", "host.o", "data.s", "more.o"]
    assert seen["options"] == ["-x"]


@needs_cc
def test_a_linker_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "program.so"
    path.write_bytes(b"old")
    with pytest.raises(cc.LinkError, match="-lno_such_library"):
        program().export_library(path, options=["-lno_such_library"])
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["program.so"]


# the first bytes of an object, by the machine that it is for
FORMATS = {
    "aarch64-linux-gnu": b"\x7fELF\x02\x01\x01",
    "riscv64-linux-gnu": b"\x7fELF\x02\x01\x01",
    "arm64-apple-macos": b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01",
    "x86_64-pc-windows-msvc": b"d\x86",
    "wasm32-unknown-unknown": b"\0asm",
}


@pytest.mark.parametrize("triple", FORMATS)
def test_objects_for_other_machines_need_no_linker(triple: str, tmp_path: Path) -> None:
    path = tmp_path / "program.o"
    module = program(f"llvm -mtriple={triple}")
    module.export_library(path)
    content = path.read_bytes()
    assert content.startswith(FORMATS[triple])
    assert WEIGHTS.tobytes() in content
    for name in (b"__tvm_ffi_f", b"__tvm_artefact", b'"exports":["f"]'):
        assert name in content
    assert not module.is_runnable()


def test_an_object_with_its_data_can_be_loaded(tmp_path: Path) -> None:
    module = program()
    data = {name: values.tobytes() for name, values in module.constant_bytes().items()}
    data["__tvm_artefact"] = Artefact(exports=("f",)).to_json().encode() + b"\0"
    made = module.whole_object(data)
    (tmp_path / "program.o").write_bytes(made)
    check(load_module(tmp_path / "program.o"))


@needs_cc
@pytest.mark.parametrize("script", ["as it is", "one that the linker refuses"])
def test_much_data_is_added_behind_what_was_linked(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script != "as it is":
        monkeypatch.setattr("tvm.runtime.export.SCRIPT", "no script {")
    weight = np.random.default_rng(0).standard_normal((640, 640)).astype("float32")
    x = relax.Var("x", relax.TensorStructInfo((2, 640), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.matmul(x, relax.const(weight))))
    built = tvm.compile(bb.get(), "llvm")
    built.export_library(str(tmp_path / "f.so"))
    assert (b".tvm_data" in (tmp_path / "f.so").read_bytes()) == (
        script == "as it is" and sys.platform == "linux" and platform.machine() in MACHINES
    )
    given = np.random.default_rng(1).standard_normal((2, 640)).astype("float32")
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / "f.so")), tvm.cpu())
    np.testing.assert_allclose(machine["main"](given).numpy(), given @ weight, rtol=1e-4, atol=1e-4)

"""Text to object to running code; bad text is an error and never the end of the process."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from tvm.backend.llvm import jit
from tvm.error import InternalError, TVMError

pytestmark = pytest.mark.cpu
TEXT = """
declare float @expf(float)
@table = external constant [4 x float]
define float @f(float %x) {
  %p = getelementptr float, ptr @table, i64 2
  %y = load float, ptr %p
  %z = call float @expf(float %x)
  %w = fadd float %y, %z
  ret float %w
}
define internal float @hidden(float %x) {
  ret float %x
}
"""


def test_text_becomes_running_code() -> None:
    table = (ctypes.c_float * 4)(1, 2, 3, 4)
    assert jit.external_names(TEXT) == ["expf", "table"]
    assert jit.defined_names(TEXT) == ["f"]
    content = jit.emit_object(TEXT, jit.host_machine(), keep=False)
    expf = jit.process_symbol("expf")
    assert expf is not None
    linked = jit.link(content, ["f"], {"expf": expf, "table": ctypes.addressof(table)})
    f = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(linked.address("f"))
    assert f(0.0) == 4.0
    assert linked.has("f")
    assert not linked.has("hidden")


def test_names_of_the_first_line_and_of_any_form() -> None:
    text = (
        'declare void @"a b"(ptr)\n@x = external global i8\n'
        '@y = constant [11 x i8] c" = external "\ndefine internal i32 @q() {\n'
        'define dso_local i32 @"r.s"() {\n declare i32 @no()\ndeclare i32 @llvm.foo(i32)'
    )
    assert jit.external_names(text) == ["a b", "x"]
    assert jit.defined_names(text) == ["r.s"]
    assert jit.external_names("") == jit.defined_names("") == []


def test_text_that_does_not_parse_names_the_line() -> None:
    with pytest.raises(InternalError) as caught:
        jit.emit_object("define i32 @f() {\n  ret i33 0\n}\n", jit.host_machine(), keep=False)
    assert "value doesn't match function result type 'i32'" in str(caught.value)
    assert "where: define i32 @f() {" in str(caught.value)


def test_text_that_does_not_verify_is_refused() -> None:
    text = "define i32 @f() {\na:\n  br label %b\nb:\n  %x = phi i32 [ 1, %b ]\n  ret i32 %x\n}\n"
    with pytest.raises(InternalError, match="PHI"):
        jit.emit_object(text, jit.host_machine(), keep=False)


def test_only_intrinsics_that_a_cpu_may_lack_are_unusual() -> None:
    usual = "call <4 x float> @llvm.fma.v4f32( @llvm.masked.load.v4f32.p0( @llvm.memset.p0.i64("
    assert jit.unusual_intrinsics(usual) == []
    assert jit.unusual_intrinsics("@llvm.x86.avx512.vpdpbusd.512(") == [
        "llvm.x86.avx512.vpdpbusd.512"
    ]


VNNI = """
declare <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32>, <16 x i32>, <16 x i32>)
define <16 x i32> @f(<16 x i32> %a) {
  %b = call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(<16 x i32> %a, <16 x i32> %a, <16 x i32> %a)
  ret <16 x i32> %b
}
"""


def test_an_instruction_that_the_cpu_lacks_does_not_end_the_process() -> None:
    old = jit.Machine("x86_64-linux-gnu", "core2", "")
    with pytest.raises(TVMError) as caught:
        jit.emit_object(VNNI, old, keep=False)
    text = str(caught.value)
    assert text.startswith("compile llvm.x86.avx512.vpdpbusd.512\n  found:")
    assert "where: target x86_64-linux-gnu, cpu core2" in text


def test_an_instruction_that_the_cpu_has_is_compiled() -> None:
    new = jit.Machine("x86_64-linux-gnu", "sapphirerapids", "")
    assert jit.emit_object(VNNI, new, keep=False)[:4] == b"\x7fELF"


@pytest.mark.parametrize(
    ("triple", "magic"),
    [
        ("aarch64-linux-gnu", b"\x7fELF"),
        ("riscv64-linux-gnu", b"\x7fELF"),
        ("arm64-apple-macos", b"\xcf\xfa\xed\xfe"),
        ("x86_64-pc-windows-msvc", b"\x64\x86"),
        ("wasm32-unknown-unknown", b"\0asm"),
    ],
)
def test_objects_for_other_machines(triple: str, magic: bytes) -> None:
    text = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n"
    assert jit.emit_object(text, jit.Machine(triple), keep=False).startswith(magic)


def test_unknown_machines_are_refused() -> None:
    with pytest.raises(TVMError, match="machine code for 'nonsense-none-none'"):
        jit.data_layout(jit.Machine("nonsense-none-none"))


def test_assembly_and_optimised_text() -> None:
    text = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 0\n  ret i32 %y\n}\n"
    assert "%y" not in jit.emit_optimized_text(text, jit.host_machine())
    assert "f:" in jit.emit_assembly(text, jit.host_machine())


def test_a_missing_symbol_is_an_error() -> None:
    text = "declare void @nowhere()\ndefine void @f() {\n  call void @nowhere()\n  ret void\n}\n"
    content = jit.emit_object(text, jit.host_machine(), keep=False)
    with pytest.raises(TVMError, match="link compiled code"):
        jit.link(content, ["f"], {})


def test_code_in_memory_survives_the_end_of_python() -> None:
    program = (
        "from tvm.backend.llvm.host import host_functions\n"
        "import ctypes\n"
        "launch = host_functions()['TVMBackendParallelLaunch']\n"
        "print(bool(launch))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"True\n")


GAPS = f"""
import ctypes, mmap
from tvm.backend.llvm import jit
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
content = jit.emit_object({TEXT!r}, jit.host_machine(), keep=False)
table = (ctypes.c_float * 4)(1, 2, 3, 4)
imports = {{"expf": jit.process_symbol("expf"), "table": ctypes.addressof(table)}}
jit.link(content, ["f"], imports)  # the linker itself is in memory

def take(size):  # address space only: nothing may be read there, and nothing is reserved
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
    return libc.mmap(None, size, 0, flags, ctypes.c_size_t(-1).value, 0)

blocks = [take(1 << 32) for _ in range(40)]
for bits in range(30, 11, -2):  # what is free among the libraries
    while take(1 << bits) > blocks[-1]:
        pass
for i, start in enumerate(blocks):  # gaps of a page and of four, 4 GiB from each other
    libc.munmap(start + (1 << 31), (1 if i < 20 else 4) * mmap.PAGESIZE)
linked = [jit.link(content, ["f"], imports) for _ in range(8)]
call = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)
print({{call(one.address("f"))(0.0) for one in linked}})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="maps memory as Linux does")
def test_sections_of_an_object_stay_together_in_a_memory_full_of_gaps() -> None:
    """LLVM's older linker puts them apart, and ends the process when that is beyond 2 GiB."""
    done = subprocess.run([sys.executable, "-c", GAPS], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"{4.0}\n"), done.stderr


@pytest.mark.parametrize(
    ("triple", "cpu", "features"),
    [("x86_64-unknown-linux-gnu", "pentium4", ""), ("riscv64-linux-gnu", "", "+zvl64b")],
)
def test_a_cpu_that_ends_llvm_does_not_end_this_process(
    triple: str, cpu: str, features: str
) -> None:
    machine = jit.Machine(triple, cpu, features)
    with pytest.raises(TVMError, match="CPUs and features that LLVM has for this triple"):
        jit.emit_object("define void @f() {\n  ret void\n}\n", machine, keep=False)


def test_vectors_of_unknown_length_on_a_cpu_without_them() -> None:
    text = (
        "define void @f(ptr %p) {\n  %x = load <vscale x 4 x float>, ptr %p, align 4\n"
        "  %y = call <vscale x 4 x float> @llvm.sin.nxv4f32(<vscale x 4 x float> %x)\n"
        "  store <vscale x 4 x float> %y, ptr %p, align 4\n  ret void\n}\n"
        "declare <vscale x 4 x float> @llvm.sin.nxv4f32(<vscale x 4 x float>)\n"
    )
    with pytest.raises(TVMError, match="compile vectors of unknown length"):
        jit.emit_object(text, jit.Machine("x86_64-unknown-linux-gnu", "skylake"), keep=False)


@pytest.mark.parametrize("triple", ["wasm32-unknown-unknown", "spirv64-unknown-unknown"])
def test_code_that_changes_what_follows_it_is_compiled_alone(
    triple: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM's backend for WebAssembly changes the layout of all code that it compiles later."""
    here: list[str] = []
    monkeypatch.setattr(jit, "emit_here", lambda *_: here.append("here"))
    monkeypatch.setattr(jit, "emit_apart", lambda *_: here.append("in a process that goes on"))
    text = "define void @f() {\n  ret void\n}\n"
    assert jit.emit_object(text, jit.Machine(triple), keep=False)
    assert not here

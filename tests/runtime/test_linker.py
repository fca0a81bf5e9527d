"""Calling the system's compiler."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tvm.runtime import linker

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(linker.get_cc() is None, reason="no C compiler to call"),
]


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "f.c"
    path.write_text("int answer(void) { return 42; }\nint main(void) { return answer(); }\n")
    return str(path)


def test_programs_and_archives(source: str, tmp_path: Path) -> None:
    program = str(tmp_path / "program")
    linker.create_executable(program, source)
    assert subprocess.run([program], check=False).returncode == 42
    part = str(tmp_path / "f.o")
    linker.create_executable(part, source, ["-c"])
    linker.create_staticlib(str(tmp_path / "f.a"), [part])
    assert (tmp_path / "f.a").read_bytes().startswith(b"!<arch>")
    linker.create_staticlib(str(tmp_path / "f.a"), [part])


def test_symbols_of_a_library(source: str, tmp_path: Path) -> None:
    library = str(tmp_path / "f.so")
    linker.create_shared(library, [source])
    assert linker.get_global_symbol_section_map(library)["answer"] == "T"


def test_the_environment_chooses_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "my-compiler")
    assert linker.get_cc() == "my-compiler"


def test_failures_hold_what_the_compiler_said(tmp_path: Path) -> None:
    with pytest.raises(linker.LinkError, match=r"missing\.c"):
        linker.create_shared(str(tmp_path / "x.so"), "missing.c")
    with pytest.raises(linker.LinkError, match="no-such-compiler"):
        linker.create_shared(str(tmp_path / "x.so"), "missing.c", cc="no-such-compiler")


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linker, "get_cc", lambda: None)
    with pytest.raises(linker.LinkError, match="legal: cc=PATH, the environment variable CC"):
        linker.create_shared("x.so", "f.c")


def test_compilers_for_other_machines(source: str, tmp_path: Path) -> None:
    compiler = linker.get_cc()
    assert compiler is not None
    call = linker.cross_compiler(compiler, options=["-DX=1"], add_files=[])
    assert call.output_format == "so"
    assert "-" in call.get_target_triple()
    call(str(tmp_path / "x.so"), [source])
    assert (tmp_path / "x.so").exists()
    seen = {}
    wrapped = linker.cross_compiler(
        lambda out, files, options: seen.update(out=out, files=files, options=options),
        ["-a"], output_format="o", add_files=["more.c"],
    )  # fmt: skip
    wrapped("y", ["f.c"], options=["-b"])
    assert seen == {"out": "y", "files": ["f.c", "more.c"], "options": ["-a", "-b"]}
    assert linker.get_target_by_dump_machine("no-such-compiler")() is None

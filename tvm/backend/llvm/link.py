"""Export: compiled modules as a shared library, an object, or an archive of objects.

A library holds the kernels' object, the host functions, the constants (a read-only section, so that
the system maps them and shares them between processes), and a description of the program. Where
there is no C compiler to link with, the archive itself is written under the library's name, and
`load_module` links it in memory.
"""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tvm.error import TVMError, message
from tvm.ffi import library
from tvm.ir.host_tensor import HostTensor
from tvm.runtime import linker
from tvm.runtime._tensor import host_view
from tvm.runtime.artefact import SYMBOL, Artefact, ValueInfo
from tvm.runtime.files import draft_of, write_beside
from tvm.runtime.module import Module, import_tree
from tvm.runtime.vm_executable import VMModule

from . import jit
from .host import PUBLIC, exported_object
from .load import ARTEFACT_FILE, CONSTANTS_FILE, HOST_OBJECT, LAYOUT_FILE
from .module import LLVMModule
from .target import is_host

ALIGN: Final = 64
_LIBRARY_SUFFIXES: Final = (".so", ".dylib", ".dll")


class Program:
    """All that goes into an exported file."""

    def __init__(self, module: Module) -> None:
        code = [m for m in import_tree(module) if isinstance(m, LLVMModule)]
        others = [m.kind for m in import_tree(module) if not isinstance(m, (LLVMModule, VMModule))]
        if len(code) != 1 or others:
            found = f"{len(code)} modules of machine code"
            if others:
                found += " and " + ", ".join(sorted(set(others)))
            raise TVMError(
                message("export_library", found=found, legal="one module made by target llvm")
            )
        self.code = code[0]
        self.machine = self.code.machine
        self.constants: dict[str, np.ndarray[Any, Any]] = {
            name: _flat_bytes(tensor) for name, tensor in self.code.constants.items()
        }
        self.artefact = self._artefact(module)

    def _artefact(self, module: Module) -> Artefact:
        base = Artefact(entry=self.code.emitted.entry)
        tensors: list[ValueInfo] = []
        if isinstance(module, VMModule):
            base = replace(module.artefact, kind=VMModule.kind)
            for i, tensor in enumerate(module.constants):
                name = f"__tvm_tensor_{i}"
                self.constants[name] = np.ascontiguousarray(host_view(tensor)).view(np.uint8)
                shape = tuple(int(extent) for extent in tensor.shape)
                tensors.append(ValueInfo(name, shape, str(tensor.dtype)))
        return replace(base, exports=self.code.emitted.packed, tensors=tuple(tensors))

    def needs_host_functions(self) -> bool:
        """Whether the code calls any of them."""
        return any(name in PUBLIC for name in jit.external_names(self.code.emitted.text))

    def layout(self) -> tuple[dict[str, tuple[int, int]], int]:
        """Where each constant lies in the packed constants, and their size."""
        places: dict[str, tuple[int, int]] = {}
        end = 0
        for name, values in self.constants.items():
            start = -(-end // ALIGN) * ALIGN
            places[name] = (start, values.nbytes)
            end = start + values.nbytes
        return places, end

    def write_constants(self, path: Path) -> None:
        """All constants in one file."""
        places, _ = self.layout()
        with path.open("wb") as file:
            for name, (start, _) in places.items():
                file.write(b"\0" * (start - file.tell()))
                file.write(self.constants[name].reshape(-1).data)


def _flat_bytes(tensor: HostTensor) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8)


def export(
    module: Module,
    file_name: str,
    *,
    fcompile: Callable[..., Any] | None = None,
    fpack_imports: Callable[..., Any] | None = None,
    addons: Sequence[str] | None = None,
    workspace_dir: str | None = None,
    **kwargs: Any,
) -> Any:
    """Write a module and all that it imports as one file; the suffix says in which form."""
    program = Program(module)
    suffix = Path(file_name).suffix
    if fcompile is None and suffix == ".tar":
        write_beside(file_name, _archive(program))
        return None
    if fcompile is None and suffix in _LIBRARY_SUFFIXES and not kwargs.get("cc"):
        if linker.get_cc() is None and is_host(program.machine):
            write_beside(file_name, _archive(program))
            return None
        _require_own_linker(program, file_name)
    if fcompile is None and suffix not in (*_LIBRARY_SUFFIXES, ".o", ".obj"):
        raise ValueError(
            message(
                f"export_library {file_name!r}",
                found=f"suffix {suffix!r}",
                legal=", ".join((*_LIBRARY_SUFFIXES, ".o", ".tar")) + ", or fcompile",
            )
        )
    with tempfile.TemporaryDirectory(dir=workspace_dir, prefix="tvm-export-") as folder:
        relocatable = suffix in (".o", ".obj")
        objects = _objects(program, Path(folder), with_host=not relocatable)
        objects += list(addons or ())
        if fcompile is not None:
            return fcompile(file_name, objects, **kwargs)
        with draft_of(file_name) as draft:
            if relocatable:
                _merge(objects, draft)
            else:
                _link(objects, draft, kwargs)
    return None


def _require_own_linker(program: Program, file_name: str) -> None:
    if not is_host(program.machine):
        raise TVMError(
            message(
                f"export_library {file_name!r}",
                found=f"code for {program.machine.triple}, which the system's compiler cannot link",
                legal='cc="aarch64-linux-gnu-gcc" (a compiler for that machine), or a name that '
                "ends in .tar",
            )
        )


def _objects(program: Program, folder: Path, *, with_host: bool) -> list[str]:
    """The object files of a program, written to a folder."""
    kernels = folder / "kernels.o"
    kernels.write_bytes(program.code.object)
    objects = [kernels]
    if with_host and program.needs_host_functions():
        host = folder / HOST_OBJECT
        host.write_bytes(exported_object(program.machine))
        objects.append(host)
    program.write_constants(folder / CONSTANTS_FILE)
    (folder / ARTEFACT_FILE).write_bytes(program.artefact.to_json().encode())
    lines = _data_lines(program, folder)
    data = folder / "data.o"
    if jit.is_native(program.machine):
        # not cached: the text names a temporary folder
        data.write_bytes(jit.emit_object(_as_module(lines), program.machine, keep=False))
    else:
        data = folder / "data.s"  # LLVM has no assembler for it here; the compiler that links has
        data.write_text("\n".join([*lines, ""]))
    objects.append(data)
    return [str(path) for path in objects]


def _data_lines(program: Program, folder: Path) -> list[str]:
    """Assembly that takes constants and description from files, as they are."""
    triple = program.machine.triple
    prefix = "_" if "darwin" in triple or "macos" in triple else ""
    section = '.section .rodata,"a"'
    if prefix:
        section = ".section __TEXT,__const"
    elif "windows" in triple:
        section = '.section .rdata,"dr"'
    lines = [section]
    places, _ = program.layout()
    blob = str(folder / CONSTANTS_FILE).replace("\\", "/")
    for name, (start, size) in places.items():
        lines += [f".balign {ALIGN}", f".globl {prefix}{name}", f"{prefix}{name}:"]
        if size:
            lines.append(f'.incbin "{blob}", {start}, {size}')
    description = str(folder / ARTEFACT_FILE).replace("\\", "/")
    lines += [f".globl {prefix}{SYMBOL}", f"{prefix}{SYMBOL}:"]
    lines += [f'.incbin "{description}"', ".byte 0"]
    return lines


def _as_module(lines: list[str]) -> str:
    """Assembly as LLVM text."""
    quoted = [line.replace("\\", "\\5C").replace('"', "\\22") for line in lines]
    return "\n".join(f'module asm "{line}"' for line in quoted) + "\n"


def _link(objects: list[str], draft: Path, kwargs: dict[str, Any]) -> None:
    """A shared library that finds tvm_ffi under its own name when it is loaded."""
    ffi = Path(library().libinfo.find_libtvm_ffi())
    options = list(kwargs.pop("options", None) or ())
    options += [f"-L{ffi.parent}", "-ltvm_ffi", "-lm"]
    if ffi.suffix == ".so":
        # threads of the pool stay in the library's code, so it must never be unmapped
        options += ["-Wl,-z,nodelete", "-lpthread"]
    linker.create_shared(str(draft), objects, options, **kwargs)


def _merge(objects: list[str], draft: Path) -> None:
    """Several objects as one."""
    compiler = linker.get_cc()
    if compiler is None:
        raise TVMError(
            message(
                f"export_library {draft.name!r}",
                found="no C compiler to merge code and constants",
                legal="a name that ends in .tar or .so",
            )
        )
    linker.create_executable(str(draft), objects, ["-r", "-nostdlib"], cc=compiler)


def _archive(program: Program) -> bytes:
    """Objects, constants and description as a tar file; the same program gives the same bytes."""
    places, size = program.layout()
    blob = bytearray(size)
    for name, (start, count) in places.items():
        blob[start : start + count] = program.constants[name].tobytes()
    parts = {
        "kernels.o": program.code.object,
        ARTEFACT_FILE: program.artefact.to_json().encode(),
        LAYOUT_FILE: json.dumps(places).encode(),
        CONSTANTS_FILE: bytes(blob),
    }
    if program.needs_host_functions():
        parts[HOST_OBJECT] = exported_object(program.machine)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()



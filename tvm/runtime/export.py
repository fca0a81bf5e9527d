"""Export: a module and all that it imports as a shared library, an object, or an archive.

A library holds the code of all modules, the constants (a read-only section, so that the system maps
them and shares them between processes), and a description of the program. Modules with code write
it as files that a linker takes (`Module.code_files`). Where there is no C compiler to link with, an
archive of these files is written under the library's name, and `load_module` links it in memory.
"""

from __future__ import annotations

import io
import json
import platform
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np

from tvm.error import TVMError, message
from tvm.ffi import library
from tvm.support.scratch import scratch

from . import linker
from ._tensor import host_view
from .archive import ARTEFACT_FILE, CONSTANTS_FILE, LAYOUT_FILE
from .artefact import SYMBOL, Artefact, ValueInfo
from .device_module import DeviceModule
from .digest import seal, sealed
from .elf_data import MACHINES, SCRIPT, fill_data, write_data_object
from .files import draft_of, room_for, write_beside
from .linker import LIBRARY_SUFFIXES, RELOCATABLE
from .module import Module, import_tree
from .vm_executable import VMModule

ALIGN: Final = 64
_MUCH: Final = 1 << 20  # bytes of constants that a linker should not copy
# Constants that a linker may merge are known by local names, such as .LC0, that each source file
# gives anew. LLVM's loader takes all of one name for the same.
_NOT_MERGED: Final = ("-fno-merge-constants",)


class Program:
    """All that goes into an exported file."""

    def __init__(self, module: Module) -> None:
        tree = import_tree(module)
        self.code = [m for m in tree if m.is_compilation_exportable()]
        self.devices = [m for m in tree if isinstance(m, DeviceModule)]
        self.stored = [
            m for m in tree
            if m.is_binary_serializable() and m not in self.code and m not in self.devices
        ]  # fmt: skip
        known = [*self.code, *self.devices, *self.stored]
        others = sorted({m.kind for m in tree if m not in known and not _is_frame(m)})
        if not self.code or others:
            found = f"modules of kind {', '.join(others)}" if others else "no compiled code"
            raise TVMError(
                message("export_library", found=found, legal="modules made by targets llvm and c, "
                        "and beside them modules that can be stored as bytes")
            )
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        for part in self.code:
            self.constants.update(part.constant_bytes())
        self.artefact = self._artefact(module)

    def _artefact(self, module: Module) -> Artefact:
        base = Artefact(entry=self.code[0].marked_entry, kind=self.code[0].kind)
        tensors: list[ValueInfo] = []
        if isinstance(module, VMModule):
            base = replace(module.artefact, kind=VMModule.kind)
            for i, tensor in enumerate(module.constants):
                name = f"__tvm_tensor_{i}"
                self.constants[name] = np.ascontiguousarray(host_view(tensor)).view(np.uint8)
                shape = tuple(int(extent) for extent in tensor.shape)
                tensors.append(ValueInfo(name, shape, str(tensor.dtype)))
        exports = [name for part in self.code for name in part.function_names()]
        twice = sorted({name for name in exports if exports.count(name) > 1})
        if twice:
            raise TVMError(
                message(
                    "export_library",
                    found=f"function {', '.join(twice)} in more than one of the modules",
                    legal="functions of different names in modules that import each other",
                )
            )
        devices = tuple(device.as_record() for device in self.devices)
        stored = tuple((m.kind, bytes(m.save_to_bytes())) for m in self.stored)
        return replace(
            base, exports=tuple(exports), tensors=tuple(tensors), devices=devices, stored=stored
        )

    @property
    def triple(self) -> str:
        """The machine that the code is for; empty for this one."""
        return next((m.foreign_triple for m in self.code if m.foreign_triple), "")

    @property
    def compile_options(self) -> list[str]:
        """What the compiler has to know about source files among the code."""
        return list(dict.fromkeys(o for part in self.code for o in part.compile_options))

    def code_files(self, folder: Path) -> list[Path]:
        """The code of all modules as files, written to a folder."""
        found: dict[Path, None] = {}
        for n, part in enumerate(self.code):
            stem = "kernels" if n == 0 else f"kernels_{n}"
            found.update(dict.fromkeys(part.code_files(folder, stem)))
        return list(found)

    def whole_object(self) -> bytes | None:
        """Everything as one object, for a machine whose linker is not here."""
        if len(self.code) != 1:
            return None
        data = {name: values.tobytes() for name, values in self.constants.items()}
        data[SYMBOL] = self.artefact.to_json().encode() + b"\0"
        return self.code[0].whole_object(data)

    @property
    def has_data_objects(self) -> bool:
        """Whether constants are an object that we write, for the linker of this machine."""
        known = sys.platform == "linux" and platform.machine() in MACHINES
        return known and not self.triple

    def linked_data(self) -> dict[str, Any]:
        """Constants and description by symbol."""
        data = {name: values.reshape(-1).data for name, values in self.constants.items()}
        return {**data, SYMBOL: self.artefact.to_json().encode() + b"\0"}

    def layout(self) -> tuple[dict[str, tuple[int, int]], int]:
        """Where each constant lies in the packed constants, and their size."""
        layout: dict[str, tuple[int, int]] = {}
        end = 0
        for name, values in self.constants.items():
            start = -(-end // ALIGN) * ALIGN
            layout[name] = (start, values.nbytes)
            end = start + values.nbytes
        return layout, end

    def write_constants(self, path: Path) -> None:
        """All constants in one file."""
        layout, _ = self.layout()
        with path.open("wb") as file:
            for name, (start, _) in layout.items():
                file.write(b"\0" * (start - file.tell()))
                file.write(self.constants[name].reshape(-1).data)


def _is_frame(module: Module) -> bool:
    """Modules that have no code of their own: a graph, or a root that only imports."""
    return isinstance(module, VMModule) or type(module) is Module


def export(
    module: Module,
    file_name: str,
    *,
    fcompile: Callable[..., Any] | None = None,
    fpack_imports: Callable[..., Any] | None = None,
    addons: Sequence[str] | None = None,
    workspace_dir: str | None = None,
    finished: Callable[[Path], None] | None = None,
    **kwargs: Any,
) -> Any:
    """Write a module and all that it imports as one file; the suffix says in which form.

    `finished` is given a linked file while nobody else knows where it lies.
    """
    program = Program(module)
    suffix = Path(file_name).suffix
    if fcompile is None and suffix == ".tar":
        _write_archive(program, file_name)
        return None
    if fcompile is None and suffix in LIBRARY_SUFFIXES and not kwargs.get("cc"):
        if linker.get_cc() is None and not program.triple:
            _write_archive(program, file_name)
            return None
        _require_own_linker(program, file_name)
    if fcompile is None and suffix in RELOCATABLE and program.triple and not addons:
        content = program.whole_object()
        if content is not None:
            write_beside(file_name, content)
            return None
    if fcompile is None and suffix not in (*LIBRARY_SUFFIXES, *RELOCATABLE):
        raise ValueError(
            message(
                f"export_library {file_name!r}",
                found=f"suffix {suffix!r}",
                legal=", ".join((*LIBRARY_SUFFIXES, ".o", ".tar")) + ", or fcompile",
            )
        )
    workspace = scratch("tvm-export-", workspace_dir)
    with room_for(file_name), workspace as folder:
        relocatable = suffix in RELOCATABLE
        code = program.code_files(Path(folder))
        if relocatable:
            code = [path for path in code if path.name != linker.HOST_OBJECT]
        files = [*map(str, code), *(addons or ())]

        def with_data() -> list[str]:
            data = _data_file(program, Path(folder))
            return [*files[: len(code)], data, *files[len(code) :]]

        if fcompile is not None:
            return fcompile(file_name, with_data(), **kwargs)
        with draft_of(file_name) as draft:
            if relocatable:
                _merge(with_data(), draft, program.compile_options)
            elif not _link_apart(program, files, draft, Path(folder), kwargs):
                link_objects(with_data(), draft, program.compile_options, kwargs)
            seal(draft)
            if finished is not None and not relocatable:
                finished(draft)
    return None


def _write_archive(program: Program, file_name: str) -> None:
    with room_for(file_name):
        write_beside(file_name, sealed(_archive(program)))


def _require_own_linker(program: Program, file_name: str) -> None:
    if program.triple:
        raise TVMError(
            message(
                f"export_library {file_name!r}",
                found=f"code for {program.triple}, which the system's compiler cannot link",
                legal='cc="aarch64-linux-gnu-gcc" (a compiler for that machine), or a name that '
                "ends in .tar",
            )
        )


def _data_file(program: Program, folder: Path) -> str:
    """Constants and description as a file for a linker, written to a folder."""
    if program.has_data_objects:
        path = folder / "data.o"
        write_data_object(path, platform.machine(), program.linked_data(), ALIGN)
        return str(path)
    program.write_constants(folder / CONSTANTS_FILE)
    (folder / ARTEFACT_FILE).write_bytes(program.artefact.to_json().encode())
    layout, _ = program.layout()
    lines = _data_lines(layout, program.triple or linker.host_system(), folder)
    return str(program.code[0].data_file(lines, folder))


def _link_apart(
    program: Program, files: list[str], draft: Path, folder: Path, kwargs: dict[str, Any]
) -> bool:
    """Link a library without its constants, and put those behind it: the linker need not copy them.

    False where there are few, or where the linker does not do as the script says.
    """
    if not program.has_data_objects or kwargs.get("cc") or program.layout()[1] < _MUCH:
        return False
    data, script = folder / "data.o", folder / "data.ld"
    pieces = program.linked_data()
    write_data_object(data, platform.machine(), pieces, ALIGN, apart=True)
    script.write_text(SCRIPT)
    how = [*program.compile_options, f"-Wl,-T,{script}"]
    try:
        link_objects([*files, str(data)], draft, how, dict(kwargs))
    except linker.LinkError:
        return False  # said again when it is linked as a whole
    return fill_data(draft, pieces, ALIGN)


def _data_lines(
    layout: Mapping[str, tuple[int, int]], triple: str, folder: Path
) -> list[str]:
    """Assembly that takes constants and description from files, as they are."""
    prefix = "_" if "darwin" in triple or "macos" in triple else ""
    section = '.section .rodata,"a"'
    if prefix:
        section = ".section __TEXT,__const"
    elif "windows" in triple:
        section = '.section .rdata,"dr"'
    lines = [section]
    blob = str(folder / CONSTANTS_FILE).replace("\\", "/")
    for name, (start, size) in layout.items():
        lines += [f".balign {ALIGN}", f".globl {prefix}{name}", f"{prefix}{name}:"]
        if size:
            lines.append(f'.incbin "{blob}", {start}, {size}')
    description = str(folder / ARTEFACT_FILE).replace("\\", "/")
    lines += [f".globl {prefix}{SYMBOL}", f"{prefix}{SYMBOL}:"]
    lines += [f'.incbin "{description}"', ".byte 0"]
    if not prefix and "windows" not in triple:
        lines.append('.section .note.GNU-stack,"",@progbits')  # the stack holds no code
    return lines


def write_archived(parts: Mapping[str, bytes], folder: Path) -> list[str]:
    """The parts of an archive that this machine's export wrote, as files for a linker."""
    for name, content in parts.items():
        (folder / PurePath(name).name).write_bytes(content)
    files = [str(folder / name) for name in parts if PurePath(name).suffix in (".o", ".c")]
    if ARTEFACT_FILE in parts:
        layout = json.loads(parts.get(LAYOUT_FILE, b"{}"))
        data = folder / "data.s"
        data.write_text("\n".join(_data_lines(layout, linker.host_system(), folder)) + "\n")
        files.append(str(data))
    return files


def link_objects(files: list[str], draft: Path, how: list[str], kwargs: dict[str, Any]) -> None:
    """A shared library that finds tvm_ffi under its own name when it is loaded."""
    ffi = Path(library().libinfo.find_libtvm_ffi())
    options = [*how, *(kwargs.pop("options", None) or ())]
    options += [f"-L{ffi.parent}", "-ltvm_ffi", "-lm"]
    if ffi.suffix == ".so":
        # threads of the pool stay in the library's code, so it must never be unmapped
        options += ["-Wl,-z,nodelete", "-lpthread"]
    linker.create_shared(str(draft), files, options, **kwargs)


def _merge(files: list[str], draft: Path, how: list[str]) -> None:
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
    options = ["-r", "-nostdlib", *_NOT_MERGED, *how]
    linker.create_executable(str(draft), files, options, cc=compiler)


def _archive(program: Program) -> bytes:
    """Code, constants and description as a tar file; the same program gives the same bytes."""
    layout, size = program.layout()
    blob = bytearray(size)
    for name, (start, count) in layout.items():
        blob[start : start + count] = program.constants[name].tobytes()
    with scratch("tvm-export-") as folder:
        parts = {path.name: path.read_bytes() for path in program.code_files(Path(folder))}
    parts[ARTEFACT_FILE] = program.artefact.to_json().encode()
    parts[LAYOUT_FILE] = json.dumps(layout).encode()
    parts[CONSTANTS_FILE] = bytes(blob)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()

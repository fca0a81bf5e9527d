"""Compiled modules: made from lowered functions, run in this process, written to files."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tvm.error import CheckError, message
from tvm.ffi import library
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.runtime.digest import is_elf, sealed
from tvm.runtime.files import write_beside
from tvm.runtime.imports import CONTEXT, FFI_PREFIX, Finder
from tvm.runtime.linker import HOST_OBJECT
from tvm.runtime.module import (
    COMPILATION_EXPORTABLE,
    RUNNABLE,
    Module,
)
from tvm.target import Target

from . import jit
from .aligned import CONSTANT_ALIGNMENT, aligned_copy
from .codegen import Emitted, emit_module
from .guards import WATCHES
from .host import PUBLIC, exported_object, host_functions
from .target import is_host, machine_of
from .types import bytes_literal
from .workers import emit_objects

_FORMATS = ("ll", "bc", "o", "obj", "s", "asm")


class LLVMModule(Module):
    """Functions as machine code; they are linked into the process when one is first asked for."""

    kind = "llvm"

    def __init__(self, emitted: Emitted, machine: jit.Machine) -> None:
        super().__init__()
        self.emitted = emitted
        self.machine = machine
        self.objects = emit_objects(emitted.text, machine)  # of its parts
        self._linked: jit.Linked | None = None
        self._finder: Finder | None = None
        self._moved: dict[str, Any] = {}  # copies of constants that lay at odd addresses
        self._lock = threading.Lock()

    def unlinked(self) -> LLVMModule:
        made = super().unlinked()
        assert isinstance(made, LLVMModule), "a copy is of the same class"
        made._linked, made._finder, made._moved = None, None, {}
        made._lock = threading.Lock()
        return made

    @property
    def object(self) -> bytes:
        """All of the code as one object file."""
        if len(self.objects) == 1:
            return self.objects[0]
        return jit.emit_object(self.emitted.text, self.machine)

    @property
    def constants(self) -> dict[str, HostTensor]:
        """Constant data by the symbol under which the code refers to it."""
        return self.emitted.constants

    def function_names(self) -> list[str]:
        return list(self.emitted.packed)

    def _entry_name(self) -> str | None:
        return self.emitted.entry or super()._entry_name()

    def _find(self, name: str) -> Any:
        if name not in self.emitted.packed:
            return None
        linked = self.linked()
        held = (linked, self.constants, self._moved, self._finder)
        return library().Function.__from_extern_c__(
            linked.address(FFI_PREFIX + name), keep_alive_object=held
        )

    def linked(self) -> jit.Linked:
        """The code in memory."""
        with self._lock:
            if self._linked is None:
                self._linked = self._link()
            return self._linked

    def address(self, symbol: str) -> int:
        """Where a function or a constant lies; stays valid as long as this module."""
        linked = self.linked()
        if not linked.has(symbol):
            raise AttributeError(f"Module has no symbol '{symbol}'")
        return linked.address(symbol)

    def _link(self) -> jit.Linked:
        if not is_host(self.machine):
            raise CheckError(
                message(
                    "call of a compiled function",
                    found=f"code for {self.machine.triple}",
                    legal=f"code for {jit.host_machine().triple}; export_library writes a file",
                )
            )
        imports, missing = self._imports_of_code()
        if missing:
            raise CheckError(
                message(
                    "link compiled code",
                    found=f"unknown external function {', '.join(missing)}",
                    legal="functions of the module itself, of the C library, or of tvm_ffi",
                )
            )
        names = jit.defined_names(self.emitted.text)
        if not self.emitted.looks_up:
            return jit.link(self.objects, names, imports)
        linked = jit.link(self.objects, [*names, CONTEXT], imports)
        self._finder = Finder(self._imports)
        self._finder.serve(linked.address(CONTEXT))
        return linked

    def _imports_of_code(self) -> tuple[dict[str, int], list[str]]:
        """Addresses of what the code does not define itself, and the names that nobody has."""
        found: dict[str, int] = {}
        missing: list[str] = []
        for name in jit.external_names(self.emitted.text):
            constant = self.constants.get(name)
            if constant is not None:
                found[name] = self._constant_address(name, constant)
            elif name in PUBLIC or name in WATCHES:
                found[name] = host_functions()[name]
            else:
                address = jit.process_symbol(name) or self._symbol_of_imports(name)
                if address is None:
                    missing.append(name)
                else:
                    found[name] = address
        return found, missing

    def _constant_address(self, name: str, constant: HostTensor) -> int:
        """Where a constant lies, at the alignment that the code was promised."""
        address = int(constant.numpy().ctypes.data)
        if address % CONSTANT_ALIGNMENT == 0:
            return address
        copy = aligned_copy(constant.numpy().tobytes())
        self._moved[name] = copy
        return int(copy.ctypes.data)

    def _symbol_of_imports(self, name: str) -> int | None:
        for module in self.imports:
            if isinstance(module, LLVMModule) and name in jit.defined_names(module.emitted.text):
                return module.address(name)
        return None

    def get_property_mask(self) -> int:
        return COMPILATION_EXPORTABLE | (RUNNABLE if is_host(self.machine) else 0)

    def get_write_formats(self) -> Sequence[str]:
        return _FORMATS

    @property
    def foreign_triple(self) -> str:
        return "" if is_host(self.machine) else self.machine.triple

    @property
    def marked_entry(self) -> str | None:
        return self.emitted.entry

    def code_files(self, folder: Path, stem: str) -> list[Path]:
        """The object, and the host functions that it calls."""
        found: list[Path] = []
        for n, content in enumerate(self.objects):
            found.append(folder / (f"{stem}.o" if n == 0 else f"{stem}.{n}.o"))
            found[-1].write_bytes(content)
        if any(name in PUBLIC for name in jit.external_names(self.emitted.text)):
            found.append(folder / HOST_OBJECT)
            found[-1].write_bytes(exported_object(self.machine))
        return found

    def whole_object(self, data: Mapping[str, bytes]) -> bytes:
        """One object with the code, and with data by symbol; it takes no linker."""
        return jit.emit_object(self._text_with(data), self.machine, keep=False)

    def _text_with(self, data: Mapping[str, bytes]) -> str:
        """The code, and the data that it finds outside of itself otherwise."""
        outside = " = external constant"
        lines = [line for line in self.emitted.text.split("\n") if outside not in line]
        for name, content in data.items():
            kind = f"[{len(content)} x i8]"
            lines.append(f'@{name} = constant {kind} c"{bytes_literal(content)}", align 64')
        return "\n".join([*lines, ""])

    def constant_bytes(self) -> dict[str, Any]:
        return {
            name: np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8)
            for name, tensor in self.constants.items()
        }

    def data_file(self, lines: list[str], folder: Path) -> Path:
        """An object, which LLVM's assembler makes for this architecture."""
        if not jit.is_native(self.machine):
            return super().data_file(lines, folder)
        path = folder / "data.o"
        # not cached: the text names a temporary folder
        path.write_bytes(jit.emit_object(_as_module(lines), self.machine, keep=False))
        return path

    def inspect_source(self, fmt: str = "") -> str:
        """The code as text: "ll" as generated, "opt" after LLVM's passes, "asm" for the machine."""
        if fmt in ("", "ll"):
            return self.emitted.text
        if fmt in ("opt", "opt.ll"):
            return jit.emit_optimized_text(self.emitted.text, self.machine)
        if fmt in ("asm", "s"):
            return jit.emit_assembly(self.emitted.text, self.machine)
        raise ValueError(
            message(
                f"source of an llvm module as {fmt!r}", found="no such form", legal="ll, opt, asm"
            )
        )

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        form = fmt or Path(file_name).suffix.lstrip(".")
        if form not in _FORMATS:
            raise ValueError(
                message(
                    f"write {file_name!r}",
                    found=f"format {form!r}",
                    legal=", ".join(_FORMATS),
                )
            )
        write_beside(file_name, self._file_content(form))

    def _file_content(self, form: str) -> bytes:
        """A file has all that the code needs: the constants too."""
        text = self.emitted.text
        if self.constants:
            held = self.constant_bytes().items()
            text = self._text_with({name: data.tobytes() for name, data in held})
        if form in ("o", "obj"):
            same = text is self.emitted.text
            made = self.object if same else jit.emit_object(text, self.machine, keep=False)
            return sealed(made) if is_elf(made) else made
        if form == "bc":
            return jit.emit_bitcode(text, self.machine)
        return (text if form == "ll" else jit.emit_assembly(text, self.machine)).encode()


def _as_module(lines: list[str]) -> str:
    """Assembly as LLVM text."""
    quoted = [line.replace("\\", "\\5C").replace('"', "\\22") for line in lines]
    return "\n".join(f'module asm "{line}"' for line in quoted) + "\n"


def build(mod: IRModule, target: Target | str) -> LLVMModule:
    """Compile the lowered PrimFuncs of a module."""
    machine = machine_of(Target(target))
    debug = bool(PassContext.current().option("tir.enable_debug", False))
    return LLVMModule(emit_module(mod, machine, debug=debug), machine)


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The LLVM text of the lowered PrimFuncs of a module."""
    return emit_module(mod, machine_of(Target(target))).text



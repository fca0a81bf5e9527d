"""Modules of object files and of LLVM's own forms: linked into this process's memory."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ffi import library
from tvm.runtime.artefact import SYMBOL, Artefact
from tvm.runtime.digest import check_seal
from tvm.runtime.files import read_regular
from tvm.runtime.imports import CONTEXT, FFI_PREFIX, Finder
from tvm.runtime.library_module import as_program, constant_at
from tvm.runtime.module import RUNNABLE, Module

from . import jit
from .child import ask
from .host import host_functions


class ObjectModule(Module):
    """The functions of an object file."""

    kind = "library"

    def __init__(
        self,
        content: bytes | Sequence[bytes],
        artefact: Artefact | None,
        data: dict[str, int],
        owner: object = None,
    ) -> None:
        super().__init__()
        self._owner = owner
        imports = {**host_functions(), **_ffi_functions(), **data}
        whole = content if isinstance(content, bytes) else b"".join(content)
        if artefact is None:
            artefact = _described(whole, imports)
        self.artefact = artefact
        names = [FFI_PREFIX + name for name in artefact.exports]
        inside = [t.name for t in artefact.tensors if t.name not in data]
        context = [CONTEXT] if CONTEXT.encode() in whole else []
        self.code = jit.link(content, [*names, *inside, *context], imports)
        self._finder = Finder(self._imports, _entries(self.code, artefact.exports))
        if context:
            self._finder.serve(self.code.address(CONTEXT))

    def function_names(self) -> list[str]:
        return list(self.artefact.exports)

    def _entry_name(self) -> str | None:
        return self.artefact.entry or super()._entry_name()

    def _find(self, name: str) -> Any:
        if name not in self.artefact.exports:
            return None
        held = (self.code, self._owner, self._finder)
        return library().Function.__from_extern_c__(
            self.code.address(FFI_PREFIX + name), keep_alive_object=held
        )

    def get_property_mask(self) -> int:
        return RUNNABLE


def _described(content: bytes, imports: dict[str, int]) -> Artefact:
    """What an object says about itself; of one without a description, by its symbols."""
    if SYMBOL.encode() in content:
        probe = jit.link(content, [SYMBOL], imports)
        return Artefact.from_json(ctypes.string_at(probe.address(SYMBOL)).decode())
    found = re.findall(rb"\b" + FFI_PREFIX.encode() + rb"(\w+)\0", content)
    names = dict.fromkeys(name.decode() for name in found)
    names.pop(CONTEXT.removeprefix(FFI_PREFIX), None)
    return Artefact(exports=tuple(names))


def _entries(code: jit.Linked, names: Sequence[str]) -> Callable[[str], Any]:
    """Finds the functions of linked code, which whoever asks keeps alive."""

    def find(name: str) -> Any:
        if name not in names:
            return None
        return library().Function.__from_extern_c__(code.address(FFI_PREFIX + name))

    return find


def _ffi_functions() -> dict[str, int]:
    """Everything of tvm_ffi that compiled code may call."""
    found = {name: jit.process_symbol(name) for name in _FFI_NAMES}
    return {name: address for name, address in found.items() if address is not None}


_FFI_NAMES: Final = (
    "TVMFFIErrorSetRaisedFromCStr", "TVMFFIErrorSetRaised", "TVMFFIErrorMoveFromRaised",
    "TVMFFIFunctionCall", "TVMFFIFunctionGetGlobal", "TVMFFIObjectIncRef", "TVMFFIObjectDecRef",
    "TVMFFITensorFromDLPackVersioned", "TVMFFITensorCreateUnsafeView", "TVMFFIEnvTensorAlloc",
    "TVMFFIEnvModLookupFromImports", "TVMFFIAnyViewToOwnedAny",
)  # fmt: skip


def load_object(path: str) -> Module:
    """The module of an object file that export_library wrote."""
    content = read_regular(path)
    legal = "an object for this machine, written by export_library"
    if not check_seal(path):
        _ask_apart("link", path, content, legal)
    try:
        loaded = ObjectModule(content, None, {})
    except TVMError as err:
        raise _refused(path, err, legal) from err
    tensors = [constant_at(loaded.code.address(t.name), t, loaded.code)
               for t in loaded.artefact.tensors]  # fmt: skip
    return as_program(loaded.artefact, loaded, tensors)


def probe(content: bytes) -> None:
    """Link an object that others wrote, and read what it says about itself."""
    ObjectModule(content, None, {})


def _ask_apart(task: str, path: str, content: bytes, legal: str) -> bytes:
    """Let a process of its own look at what others wrote, which LLVM may die of."""
    worker = "tvm.backend.llvm.foreign_worker"
    answer = ask(worker, [task], content, jit.FOREIGN_SECONDS)
    if answer.reason:
        raise _refused(path, TVMError(f"found: {answer.reason}"), legal)
    return answer.content


def load_code(
    files: Mapping[str, bytes], artefact: Artefact, data: dict[str, int], owner: object
) -> Module:
    """The module of object files whose constants lie at the addresses of `data`."""
    return ObjectModule(list(files.values()), artefact, data, owner)


def load_text(path: str) -> Module:
    """The module of a file of LLVM text."""
    try:
        text = read_regular(path).decode()
    except UnicodeDecodeError as err:
        legal = "LLVM code with functions in the packed convention"
        raise _refused(path, TVMError(f"found: no text: {err.reason}"), legal) from err
    return _compiled(path, text)


def load_bitcode(path: str) -> Module:
    """The module of a file of LLVM's binary form."""
    legal = "bitcode that this version of LLVM reads"
    text = _ask_apart("disassemble", path, read_regular(path), legal)
    return _compiled(path, text.decode())


def _compiled(path: str, text: str) -> Module:
    names = [name.removeprefix(FFI_PREFIX) for name in jit.defined_names(text)
             if name.startswith(FFI_PREFIX)]  # fmt: skip
    try:
        content = jit.emit_object(text, jit.host_machine(), foreign=True)
        return ObjectModule(content, Artefact(exports=tuple(names)), {})
    except TVMError as err:
        raise _refused(path, err, "LLVM code with functions in the packed convention") from err


def _refused(path: str, err: Exception, legal: str) -> TVMError:
    lines = str(err).splitlines()
    told = next((line.partition("found: ")[2] for line in lines if "found: " in line), lines[0])
    return TVMError(message(f"load_module {path!r}", found=told, legal=legal))

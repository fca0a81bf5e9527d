"""Kernels for a device as text: what is exported, looked at, and launched where it can be.

A launch asks the runtime of the device's kind; where this process has none, it says so.
"""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ffi import library, register_global_func
from tvm.support.json_text import from_json
from tvm.support.kernel_info import KernelInfo

from .files import write_beside
from .module import BINARY_SERIALIZABLE, RUNNABLE, Module

# How kernels of a kind are made ready: launcher(module, name) -> a function of arguments and then
# launch extents. Named and not imported.
LAUNCHERS: dict[str, str] = {
    kind: "tvm.runtime.device_api.kinds:launcher"
    for kind in ("cuda", "metal", "opencl", "rocm", "vulkan", "webgpu")
}
_SUFFIXES: Final = {
    "cuda": "cu", "hip": "hip", "opencl": "cl", "metal": "metal", "wgsl": "wgsl",
    "ptx": "ptx", "amdgcn": "s", "spirv": "spvasm"}  # fmt: skip


class DeviceModule(Module):
    """The kernels of one target as text in the format `fmt`.

    `binary` is what is loaded where that is not the text: an object file whose assembly it is.
    `forms` are other texts of the same kernels by their formats, which files do not keep.
    """

    def __init__(
        self, kind: str, fmt: str, source: str, kernels: Mapping[str, KernelInfo], arch: str = "",
        binary: bytes = b"", forms: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kind = kind
        self.fmt: Final = fmt
        self.source: Final = source
        self.kernels: Final = dict(kernels)
        self.arch: Final = arch  # the machine that the target names, for the compiler
        self.binary: Final = binary
        self.forms: Final = dict(forms or {})
        self._ready: dict[tuple[str, str], Callable[..., None]] = {}

    def function_names(self) -> list[str]:
        return list(self.kernels)

    @property
    def is_device_module(self) -> bool:
        """Its functions run on a device."""
        return True

    def get_property_mask(self) -> int:
        """It is stored inside other modules' files, and runs where its device is."""
        return BINARY_SERIALIZABLE | RUNNABLE

    def get_write_formats(self) -> Sequence[str]:
        """The format of its source, and the suffix of files in it."""
        return (self.fmt, _SUFFIXES.get(self.fmt, self.fmt))

    def inspect_source(self, fmt: str = "") -> str:
        """The text, or another form of it by its format."""
        if fmt in self.forms:
            return self.forms[fmt]
        if fmt not in ("", self.kind, *self.get_write_formats()):
            raise ValueError(
                message(
                    f"source of a {self.kind} module as {fmt!r}",
                    found="no such form",
                    legal=", ".join(dict.fromkeys([*self.get_write_formats(), *self.forms])),
                )
            )
        return self.source

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the source text."""
        write_beside(file_name, self.inspect_source(fmt).encode())

    def _find(self, name: str) -> Any:
        if name not in self.kernels:
            return None
        return library().convert(lambda *args: self._launcher(name)(*args))

    def _launcher(self, name: str) -> Callable[..., None]:
        home = LAUNCHERS.get(self.kind)
        if home is None:
            raise TVMError(
                message(
                    f"launch kernel {name!r}",
                    found=f"no runtime for {self.kind} in this process",
                    legal="inspect_source() and export_library, to run it elsewhere; kernels of "
                    f"{', '.join(LAUNCHERS)} run where a driver is",
                )
            )
        found = self._ready.get((home, name))
        if found is None:
            module, _, function = home.partition(":")
            found = getattr(importlib.import_module(module), function)(self, name)
            self._ready[home, name] = found
        return found

    def as_record(self) -> dict[str, Any]:
        """As plain values that `from_record` reads."""
        return {
            "kind": self.kind,
            "format": self.fmt,
            "arch": self.arch,
            "source": self.source,
            "binary": base64.b64encode(self.binary).decode(),
            "kernels": record_of(self.kernels),
        }  # fmt: skip

    def save_to_bytes(self) -> bytes:
        return json.dumps(self.as_record()).encode()

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> DeviceModule:
        """The module that `as_record` told of; TVMError where it is damaged."""
        try:
            kernels = kernels_of(record["kernels"])
            texts = [str(record[key]) for key in ("kind", "format", "source")]
            binary = base64.b64decode(record["binary"], validate=True)
            return DeviceModule(
                texts[0], texts[1], texts[2], kernels, str(record["arch"]), binary
            )
        except (KeyError, TypeError, ValueError, AttributeError) as err:
            raise TVMError(message("load kernels", found=f"a damaged description: {err}")) from err


def record_of(kernels: Mapping[str, KernelInfo]) -> dict[str, Any]:
    """What is known of kernels as plain values."""
    return {name: [list(part) for part in info] for name, info in kernels.items()}


def kernels_of(record: Mapping[str, Any]) -> dict[str, KernelInfo]:
    """What `record_of` told of."""
    return {
        str(name): KernelInfo(
            tuple(map(str, kinds)), tuple(map(str, tags)), tuple(map(int, written))
        )
        for name, (kinds, tags, written) in record.items()
    }


def load_from_bytes(data: bytes) -> Module:
    """The kernels that `save_to_bytes` wrote, of a text or of a binary for CUDA's driver."""
    record = from_json(bytes(data))
    if "code" in record:
        from .cuda_module import CUDAModule  # it needs the driver's interface

        return CUDAModule.from_record(record)
    return DeviceModule.from_record(record)


for _kind in ("hip", *LAUNCHERS):
    register_global_func(f"ffi.Module.load_from_bytes.{_kind}", load_from_bytes, override=True)

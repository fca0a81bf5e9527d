"""Kernels of a CUDA binary, launched by the driver that is installed here."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ffi import library
from tvm.support.kernel_info import KernelInfo

from .device_api.api import AXES, DYNAMIC_SHARED, split_arguments
from .device_api.kinds import api_of
from .device_module import kernels_of, record_of
from .module import BINARY_SERIALIZABLE, RUNNABLE, Module

_MORE_TAGS: Final = (DYNAMIC_SHARED,)
_TAGS: Final = (*AXES, *_MORE_TAGS)


class CUDAModule(Module):
    """The kernels of a PTX text or of a cubin; a call gives arguments, then launch extents."""

    kind = "cuda"

    def __init__(
        self, code: bytes, fmt: str, kernels: dict[str, KernelInfo], source: str = ""
    ) -> None:
        super().__init__()
        for name, info in kernels.items():
            unknown = [tag for tag in info.launch_param_tags if tag not in _TAGS]
            if unknown:
                raise TVMError(
                    message(
                        f"load kernel {name!r}",
                        found=f"launch parameters {', '.join(unknown)}",
                        legal=", ".join(_TAGS),
                    )
                )
        self.code: Final = code
        self.format: Final = fmt
        self.kernels: Final = dict(kernels)
        self.source: Final = source

    def function_names(self) -> list[str]:
        return list(self.kernels)

    @property
    def is_device_module(self) -> bool:
        """Its functions run on the GPU."""
        return True

    def get_property_mask(self) -> int:
        """It is stored as bytes, and runs where a driver is."""
        return BINARY_SERIALIZABLE | RUNNABLE

    def save_to_bytes(self) -> bytes:
        record = {
            "code": base64.b64encode(self.code).decode(),
            "format": self.format,
            "kernels": record_of(self.kernels),
            "source": self.source,
        }
        return json.dumps(record).encode()

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> CUDAModule:
        """The module that `save_to_bytes` told of; TVMError where it is damaged."""
        try:
            code = base64.b64decode(record["code"], validate=True)
            kernels = kernels_of(record["kernels"])
            return CUDAModule(code, str(record["format"]), kernels, str(record["source"]))
        except (KeyError, TypeError, ValueError, AttributeError) as err:
            raise TVMError(message("load kernels", found=f"a damaged description: {err}")) from err

    def get_write_formats(self) -> Sequence[str]:
        """The format it was given in."""
        return (self.format,)

    def inspect_source(self, fmt: str = "") -> str:
        """The text in CUDA, or with "ptx" that of the assembler."""
        if fmt == "ptx" and self.format == "ptx":
            return self.code.decode()
        return self.source if fmt in ("", "cuda", "cu") else ""

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the binary as it is."""
        if fmt not in ("", self.format):
            raise TVMError(
                message(f"write {file_name!r}", found=f"format {fmt!r}", legal=self.format)
            )
        with open(file_name, "wb") as file:
            file.write(self.code)

    def _find(self, name: str) -> Any:
        info = self.kernels.get(name)
        if info is None:
            return None
        made: list[Callable[..., None]] = []

        def launch(*args: Any) -> None:
            if not made:
                split_arguments(name, info.arg_types, info.launch_param_tags, args, _MORE_TAGS)
                api: Any = api_of("cuda")
                made.append(
                    api.launcher_of(
                        name, info,
                        lambda index: api.kernel_of(index, self.code, name, info.arg_types),
                    )
                )  # fmt: skip
            made[0](*args)

        return library().convert(launch)

"""What a code generator wrote for a machine that is not here: text or bytes, looked at and kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi import register_global_func
from tvm.support.json_text import from_json

from .files import write_beside
from .module import BINARY_SERIALIZABLE, Module


class GeneratedCode(Module):
    """Functions as text or bytes in some language; whoever exports a module keeps them."""

    kind = "generated"

    def __init__(self, language: str, functions: Mapping[str, str | bytes]) -> None:
        super().__init__()
        self.language = language
        self.functions = dict(functions)

    def function_names(self) -> list[str]:
        return list(self.functions)

    def _find(self, name: str) -> Any:
        if name not in self.functions:
            return None

        def refuse(*args: Any) -> None:
            raise TVMError(
                message(
                    f"call of {name!r}",
                    found=f"code in {self.language or 'a language without a name'}, "
                    "which does not run here",
                    legal="inspect_source() and export_library(); a code generator that returns "
                    "a runtime Module says itself how its code runs",
                )
            )

        return refuse

    def get_property_mask(self) -> int:
        return BINARY_SERIALIZABLE

    def get_write_formats(self) -> Sequence[str]:
        return (self.language,) if self.language else ()

    def inspect_source(self, fmt: str = "") -> str:
        """The texts, one after the other; bytes have none."""
        return "\n".join(code for code in self.functions.values() if isinstance(code, str))

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        parts = [c.encode() if isinstance(c, str) else c for c in self.functions.values()]
        write_beside(file_name, b"\n".join(parts))

    def save_to_bytes(self) -> bytes:
        functions = [
            [name, "text", code]
            if isinstance(code, str)
            else [name, "bytes", base64.b64encode(code).decode()]
            for name, code in self.functions.items()
        ]
        return json.dumps([self.language, functions]).encode()


@register_global_func("ffi.Module.load_from_bytes.generated", override=True)
def load_from_bytes(data: bytes) -> GeneratedCode:
    """The module that `save_to_bytes` wrote."""
    language, functions = from_json(bytes(data))
    return GeneratedCode(
        str(language),
        {n: code if kind == "text" else base64.b64decode(code) for n, kind, code in functions},
    )

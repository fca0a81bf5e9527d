"""WebAssembly by Emscripten's compiler, if one is installed."""

from __future__ import annotations

from collections.abc import Sequence

from .tools import run_tool

_FLAGS = (
    "-O3", "-std=c++17", "--no-entry", "-s", "WASM_BIGINT=1", "-s", "ERROR_ON_UNDEFINED_SYMBOLS=0",
    "-s", "STANDALONE_WASM=1", "-s", "ALLOW_MEMORY_GROWTH=1",
)  # fmt: skip


def create_tvmjs_wasm(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str = "emcc",
    libs: Sequence[str] | None = None,
) -> None:
    """Link object files and libraries (bitcode, such as a runtime's) to a module `output`.

    A RuntimeError where the compiler is missing or refuses.
    """
    parts = [objects] if isinstance(objects, str) else objects
    run_tool([cc, *_FLAGS, "-o", output, *parts, *(libs or ()), *(options or ())], "Emscripten")


create_tvmjs_wasm.object_format = "bc"  # type: ignore[attr-defined]

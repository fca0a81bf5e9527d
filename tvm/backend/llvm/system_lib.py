"""Functions that are linked into a program itself announce themselves when it starts.

The module attribute `system_lib_prefix` asks for it; `tvm.runtime.system_lib(prefix)` finds them.
"""

from __future__ import annotations

from collections.abc import Sequence

from .module_text import ModuleText
from .types import quoted


def register_at_start(module: ModuleText, symbols: Sequence[str]) -> None:
    """Have the functions registered by a constructor, which runs when the code is loaded."""
    callee = module.declare("TVMFFIEnvModRegisterSystemLibSymbol", "i32", "ptr, ptr")
    calls = [
        f"  %r{n} = call i32 {callee}(ptr {module.string(symbol)}, ptr {quoted(symbol)})"
        for n, symbol in enumerate(symbols)
    ]
    module.functions += [
        "\n".join(["define internal void @tvm.startup() {", *calls, "  ret void", "}", ""]),
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
        "[{ i32, ptr, ptr } { i32 65535, ptr @tvm.startup, ptr null }]\n",
    ]

"""Code that says which memory is which, and asks whether it stayed within (runtime.debug_memory).

In this mode scratch memory of any size comes from guarded memory, and so do new tensors: their
values apart from what describes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.runtime import debug_memory

if TYPE_CHECKING:
    from .stmt import StmtEmitter

WORKSPACES: Final = ("TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace")
NAME, CHECK = WATCHES = ("tvm_rt_debug_name", "tvm_rt_debug_check")

_DECLARES: Final = """
declare noalias ptr @TVMBackendAllocWorkspace(i32, i32, i64, i32, i32)
declare i32 @TVMBackendFreeWorkspace(i32, i32, ptr)
declare void @tvm_rt_debug_name(ptr, ptr)
"""
_APART: Final = (
    ("select i1 %endless, i64 -1, i64 %total", "select i1 %endless, i64 -1, i64 %head"),
    (
        "store ptr null, ptr %p.ctx",
        "%data = call ptr @TVMBackendAllocWorkspace(i32 1, i32 0, i64 %bytes, i32 0, i32 0)\n"
        "  call void @tvm_rt_debug_name(ptr %data, ptr %name)\n"
        "  store ptr %data, ptr %p.ctx",
    ),
    ("%data = getelementptr inbounds i8, ptr %self, i64 %head", ""),
    (
        "%r = call i32 @TVMBackendFreeWorkspace(i32 1, i32 0, ptr %self)",
        "%p = getelementptr inbounds i8, ptr %self, i64 8\n"
        "  %data = load ptr, ptr %p, align 8\n"
        "  %d = call i32 @TVMBackendFreeWorkspace(i32 1, i32 0, ptr %data)\n"
        "  %r = call i32 @TVMBackendFreeWorkspace(i32 1, i32 0, ptr %self)",
    ),
)


def guarded_forms(tensors: str) -> tuple[str, str]:
    """The text of host functions whose memory is guarded, from that of plain new tensors."""
    for plain, apart in _APART:
        assert tensors.count(plain) == 1, plain
        tensors = tensors.replace(plain, apart)
    return _DECLARES, tensors


class Guards:
    """The watches of one function of the output."""

    def __init__(self, emit: StmtEmitter) -> None:
        self._emit = emit
        self.is_on = debug_memory.enabled()

    def name(self, address: str, name: str) -> None:
        """Say what the memory at an address is."""
        if self.is_on:
            module = self._emit.module
            callee = module.declare(NAME, "void", "ptr, ptr")
            self._emit.out.line(f"call void {callee}(ptr {address}, ptr {module.string(name)})")

    def check(self, kernel: str) -> None:
        """Fail if something outside of guarded memory was touched."""
        if self.is_on and self._emit.out.signature.fallible:
            module = self._emit.module
            callee = module.declare(CHECK, "i32", "ptr")
            self._emit.check(self._emit.out.temp(f"call i32 {callee}(ptr {module.string(kernel)})"))

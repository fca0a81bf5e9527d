"""The text of a kernel: functions of a GPU, where a pointer's type tells whose memory it is.

Emitters write `ptr`; the text adds the space of what the pointer is known to point into:

    load float, ptr %A, align 4    ->    load float, ptr addrspace(1) %A, align 4
"""

from __future__ import annotations

import re
from typing import Final

from tvm.backend.host_functions import Signature
from tvm.backend.llvm.function_text import FunctionText
from tvm.backend.llvm.module_text import ModuleText
from tvm.backend.llvm.types import quoted

_POINTER: Final = re.compile(r'\bptr (%[\w.]+|@(?:[\w.$]+|"[^"]*"))')
_MOVED: Final = re.compile(r"getelementptr .*?\bptr(?: addrspace\((\d+)\))? [%@]")


def pointer_type(space: int) -> str:
    """The type of pointers into a space; 0 is LLVM's generic one."""
    return f"ptr addrspace({space})" if space else "ptr"


class KernelText(FunctionText):
    """Lines of a kernel, or of a function that kernels call."""

    def __init__(
        self, module: ModuleText, signature: Signature, names: list[str],
        attributes: list[str], own_space: int,
    ) -> None:  # fmt: skip
        super().__init__(module, signature, names, attributes)
        self._own_space = own_space
        self.spaces: dict[str, int] = {}  # of pointers, by their names
        self.convention = ""  # of the call
        self.suffix = ""  # attributes and metadata of the function
        for name, kind in zip(self.params, signature.params):
            found = re.fullmatch(r"ptr addrspace\((\d+)\)", kind)
            if found is not None:
                self.spaces[name] = int(found[1])

    def _in_spaces(self, text: str) -> str:
        return _POINTER.sub(
            lambda m: f"{pointer_type(self.spaces.get(m[1], 0))} {m[1]}", text
        )

    def line(self, text: str) -> None:
        super().line(self._in_spaces(text))

    def temp(self, text: str) -> str:
        text = self._in_spaces(text)
        name = super().temp(text)
        moved = _MOVED.match(text)
        if moved is not None and moved[1]:
            self.spaces[name] = int(moved[1])
        return name

    def alloca(self, kind: str, count: int | str, align: int, hint: str) -> str:
        name = super().alloca(kind, count, align, hint)
        if self._own_space:
            self._allocas[-1] += f", addrspace({self._own_space})"
            self.spaces[name] = self._own_space
        return name

    def variable(self, kind: str, value: str, hint: str) -> str:
        name = self.alloca(kind, 1, 8, hint)
        self._allocas.append(self._in_spaces(f"  store {kind} {value}, ptr {name}, align 8"))
        return name

    def finish(self) -> None:
        """Hand the text to the module."""
        words = [self.convention, self.signature.result, f"{quoted(self.signature.name)}"]
        head = " ".join(word for word in words if word) + f"({self._head}) {self.attributes}"
        body = [*self._allocas, *(line for line in self._lines if line)]
        self.module.functions.append(
            "\n".join([f"define {head} convergent{self.suffix} {{", "entry:", *body, "}", ""])
        )

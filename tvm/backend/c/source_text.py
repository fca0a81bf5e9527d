"""The text of one C file while it grows, in a stable order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tvm.backend.host_functions import Signature
from tvm.error import CheckError, message
from tvm.support.naming import NameTable

from .helpers import helper
from .names import KEYWORDS, LIBRARY

# Integers wrap around and memory is read under several types, as in TensorIR.
FLAGS: Final = ("-std=gnu11", "-O2", "-fwrapv", "-fno-strict-aliasing", "-fPIC")
_HEAD: Final = f"""\
/* Made by TVM from TensorIR: packed functions have the calling convention of tvm-ffi.
   Compile: cc {" ".join(FLAGS)} -shared file.c -o file.so -ltvm_ffi -lm */"""


@dataclass
class SourceText:
    """Collects the parts; `text()` puts them together."""

    functions: list[str] = field(default_factory=list)
    prototypes: dict[str, str] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    names: NameTable = field(default_factory=lambda: NameTable([*KEYWORDS, *LIBRARY]))
    _headers: set[str] = field(default_factory=lambda: {"stdint.h", "stdbool.h", "stddef.h"})
    _helpers: dict[str, str] = field(default_factory=dict)
    _declares: dict[str, str] = field(default_factory=dict)
    _globals: list[str] = field(default_factory=list)
    _slots: dict[str, str] = field(default_factory=dict)

    def need(self, name: str) -> str:
        """Have a helper function or type in the file; its name."""
        if name not in self._helpers:
            found = helper(name)
            assert found is not None, f"there is no helper {name}"
            for other in found.needs:
                self.need(other)
            self._headers.update(found.headers)
            self._helpers[name] = found.text
        return name

    def header(self, name: str) -> None:
        """Include a header of the C library."""
        self._headers.add(name)

    def declare(self, name: str, result: str, params: tuple[str, ...]) -> str:
        """Declare an outside function, once and always alike; its name."""
        if helper(name) is not None:
            return self.need(name)
        if name in LIBRARY:
            self.header(LIBRARY[name])
            return name
        line = f"extern {result} {name}({', '.join(params) or 'void'});"
        known = self._declares.setdefault(name, line)
        if known != line:
            raise CheckError(
                message(
                    f"call external function {name}",
                    found=f"two forms of it: {known} and {line}",
                    legal="one result type and one list of parameter types for a function",
                )
            )
        self.names.reserve(name)
        return name

    @property
    def externals(self) -> tuple[str, ...]:
        """The outside functions that the file declares itself."""
        return tuple(self._declares)

    def constant(self, text: str) -> None:
        """Add data, or a structure that functions share."""
        self._globals.append(text)

    def slot(self, name: str, hint: str) -> str:
        """A variable for the packed function `name`, NULL until it is looked up."""
        if name not in self._slots:
            self._slots[name] = self.names.fresh("fn_" + hint)
            self._globals.append(f"static void* {self._slots[name]} = NULL;")
        return self._slots[name]

    def text(self) -> str:
        """The whole file."""
        parts = [_HEAD, *[f"#include <{name}>" for name in sorted(self._headers)], ""]
        for group in (list(self._helpers.values()), list(self._declares.values()), self._globals,
                      list(self.prototypes.values())):  # fmt: skip
            parts += [*group, ""] if group else []
        return "\n".join(parts + self.functions)

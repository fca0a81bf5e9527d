"""The text of one LLVM function while it grows: blocks, temporaries, stack slots."""

from __future__ import annotations

import functools
from typing import Final

from tvm.backend.host_functions import Signature
from tvm.error import CheckError, message
from tvm.support.compiled import mypyc_attr
from tvm.support.naming import NameTable

from .known_values import KnownValues, is_pure
from .module_text import PLAIN, ModuleText
from .types import quoted

MAX_LETTERS: Final = 200  # of what a name takes from that of the program


@mypyc_attr(allow_interpreted_subclasses=True)
class FunctionText:
    """Lines of a function; `line` appends an instruction, `temp` one that has a result.

    Stack slots (`alloca`) go to the entry block, where LLVM can turn them into registers.
    """

    def __init__(
        self,
        module: ModuleText,
        signature: Signature,
        param_names: list[str],
        attributes: list[str],
        linkage: str = "",
    ) -> None:
        self.module = module
        self.signature = signature
        self._linkage = linkage
        self._names = NameTable(["entry"])
        self._allocas: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._known = KnownValues()
        self.block = "entry"
        self.conjuncts: dict[str, tuple[str, str]] = {}  # of masks that `both` has made
        self.params = ["%" + self._fresh(name) for name in param_names]
        self._head = ", ".join(
            " ".join(part for part in (kind, extra, name) if part)
            for kind, extra, name in zip(signature.params, attributes, self.params)
        )
        self.attributes = PLAIN
        self._own_attributes: list[str] = []
        self.debug_suffix = ""  # of each instruction
        self.call_suffix = ""  # of calls, which need a location in functions that have one
        self.debug_function = ""  # of the function itself

    def _fresh(self, hint: str) -> str:
        return self._names.fresh(_clean(hint), ".")

    def add_attribute(self, word: str) -> None:
        """Give the function an attribute of its own, such as `aarch64_pstate_sm_body`."""
        if not word.replace("_", "").isalnum() or not word.isascii():
            raise CheckError(
                message(
                    f"attribute {word!r} of a function",
                    found="no word of LLVM's",
                    where=f"function {self.signature.name}",
                    legal='letters, digits and "_", as "aarch64_pstate_sm_body"',
                )
            )
        if word not in self._own_attributes:
            self._own_attributes.append(word)

    def line(self, text: str) -> None:
        """Append an instruction."""
        if text.startswith("br "):
            self._known.jump(text)
        self._lines.append("  " + text + self._suffix_of(text))

    def _suffix_of(self, text: str) -> str:
        return self.debug_suffix or (self.call_suffix if "call " in text else "")

    def temp(self, text: str) -> str:
        """Append an instruction with a result, unless there is one like it; the result's name."""
        shared = not self.debug_suffix and is_pure(text)  # each statement has its own lines
        known = self._known.find(text) if shared else None
        if known is not None:
            return known
        self._count += 1
        name = f"%.{self._count}"
        self._lines.append(f"  {name} = {text}{self._suffix_of(text)}")
        if shared:
            self._known.add(text, name)
        return name

    def both(self, kind: str, a: str, b: str) -> str:
        """Append the conjunction of two masks; its name. Parts of it are made of parts of both."""
        name = self.temp(f"and {kind} {a}, {b}")
        self.conjuncts[name] = (a, b)
        return name

    def named(self, hint: str) -> str:
        """A fresh local name that resembles `hint`."""
        return "%" + self._fresh(hint)

    def label(self, hint: str) -> str:
        """A fresh label."""
        return self._fresh(hint)

    def begin(self, label: str) -> None:
        """Start the block `label`."""
        self._lines.append(f"{label}:")
        self._known.begin(label)
        self.block = label

    def out_of_order(self) -> None:
        """Blocks from here on may start before all jumps to them are written."""
        self._known.forget()

    def mark(self) -> int:
        """Reserve a row for an instruction that is known later; fill it with `patch`."""
        self._lines.append("")
        return len(self._lines) - 1

    def patch(self, row: int, text: str) -> None:
        """Fill a row that `mark` reserved."""
        self._lines[row] = "  " + text

    def alloca(self, kind: str, count: int | str, align: int, hint: str) -> str:
        """A stack slot for `count` values, made once a call of the function."""
        name = self.named(hint)
        self._allocas.append(f"  {name} = alloca {kind}, i64 {count}, align {align}")
        return name

    def variable(self, kind: str, value: str, hint: str) -> str:
        """A stack slot that holds `value` at first; LLVM makes a register of it."""
        name = self.alloca(kind, 1, 8, hint)
        self._allocas.append(f"  store {kind} {value}, ptr {name}, align 8")
        return name

    def finish(self) -> None:
        """Hand the text to the module."""
        linkage = self._linkage + " " if self._linkage else ""
        name = quoted(self.signature.name)
        head = f"define {linkage}{self.signature.result} {name}({self._head})"
        body = [*self._allocas, *(line for line in self._lines if line)]
        own = "".join([f' "{word}"' for word in self._own_attributes])
        opening = f"{head} {self.attributes}{own}{self.debug_function} {{"
        self.module.functions.append("\n".join([opening, "entry:", *body, "}", ""]))


@functools.lru_cache(maxsize=1024)
def _clean(hint: str) -> str:
    """A name that LLVM takes without quotes."""
    # LLVM itself cuts names at 1,024 letters, and then two may be one
    clean = "".join(c if c.isalnum() or c in "_." else "_" for c in hint[:MAX_LETTERS])
    if not clean or clean[0].isdigit() or not clean.isascii():
        clean = "v_" + clean.encode("ascii", "replace").decode().replace("?", "_")
    return clean

"""The text of one C function while it grows: indented lines, declarations, fresh names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tvm.backend.c_family.code import Code
from tvm.backend.c_family.text import Lines
from tvm.backend.host_functions import Signature

from .helpers import helper
from .source_text import SourceText


class FunctionText(Lines):
    """Lines of a function. `declare` adds a variable; one that nothing reads is marked as such."""

    def __init__(
        self,
        module: SourceText,
        signature: Signature,
        names: Sequence[str],
        restrict: Sequence[bool],
    ) -> None:
        super().__init__()
        self.module = module
        self.signature = signature
        self._declared: dict[str, tuple[list[str], int]] = {}
        self.params = [self.fresh(name) for name in names]
        self._params_read: set[str] = set()
        pieces = [
            f"{kind} {'restrict ' if alone else ''}{name}"
            for kind, alone, name in zip(signature.params, restrict, self.params)
        ]
        self.head = f"{signature.result} {signature.name}({', '.join(pieces) or 'void'})"

    def taken(self, name: str) -> bool:
        return name in self.module.names or helper(name) is not None

    def declare(self, kind: str, hint: str, value: str) -> str:
        """Declare a variable that does not change; its name."""
        name = self.fresh(hint)
        self.line(f"{'' if kind.endswith('*') else 'const '}{kind} {name} = {value};")
        self._declared[name] = (self.lines, len(self.lines) - 1)
        return name

    def array(self, kind: str, hint: str, count: int, align: int = 0) -> str:
        """Declare an array; its name."""
        name = self.fresh(hint)
        aligned = f" __attribute__((aligned({align})))" if align else ""
        self.line(f"{kind} {name}[{count}]{aligned};")
        self._declared[name] = (self.lines, len(self.lines) - 1)
        return name

    def read(self, name: str) -> None:
        """Note that a variable or a parameter is used."""
        self._declared.pop(name, None)
        self._params_read.add(name)

    def stack(self, kind: str, hint: str, count: int | str) -> str:
        """Declare an array whose length may be known only when it runs; its name."""
        name = self.fresh(hint)
        if isinstance(count, int):
            self.line(f"{kind} {name}[{count}];")
        else:  # no jump may enter the scope of an array of such a length
            self.line(f"{kind}* {name} = __builtin_alloca(sizeof({kind}) * ({count}));")
        return name

    @contextmanager
    def apart(self) -> Iterator[list[str]]:
        """Collect the lines made inside, which run only if a condition holds."""
        outer, self.lines = self.lines, []
        depth, self.indent = self.indent, 0
        try:
            yield self.lines
        finally:
            here = [n for n, (where, _) in self._declared.items() if where is self.lines]
            self._mark_unread(here)
            self.lines, self.indent = outer, depth

    def _mark_unread(self, names: list[str]) -> None:
        for name in names:
            lines, row = self._declared.pop(name)
            lines[row] += f" (void){name};"

    def finish(self) -> None:
        """Hand the text to the file."""
        self._mark_unread(list(self._declared))
        unread = [f"  (void){name};" for name in self.params if name not in self._params_read]
        kind = "static " if self.signature.private else ""
        body = "\n".join([f"{kind}{self.head} {{", *unread, *self.lines, "}", ""])
        self.module.functions.append(body)
        self.module.prototypes[self.signature.name] = f"{kind}{self.head};"


def in_statement(lines: list[str], value: Code) -> Code:
    """A value with the lines that make it, as one expression (a GNU statement expression)."""
    if not lines:
        return value
    text = f"({{ {' '.join(line.strip() for line in lines)} {value}; }})"
    return Code(text)

"""Which functions of a module call which."""

from __future__ import annotations

from collections import Counter

from tvm.error import TVMError
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.relay.traverse import post_order
from tvm.support.arguments import explained


class CallGraph(Object):
    """The calls between the functions of a module."""

    @explained
    def __init__(self, module: IRModule) -> None:
        self._module = module
        self._calls: dict[str, Counter[str]] = {}
        for var, func in module.functions.items():
            names = [e.name_hint for e in _uses(func)]
            self._calls[var.name_hint] = Counter(names)

    @property
    def module(self) -> IRModule:
        """The module."""
        return self._module

    def _name(self, var: GlobalVar | str) -> str:
        name = var if isinstance(var, str) else var.name_hint
        if name not in self._calls:
            raise TVMError(f"Cannot find global var {name} in the module")
        return name

    def ref_count(self, var: GlobalVar | str) -> int:
        """How often a function is referred to."""
        name = self._name(var)
        return sum(calls[name] for calls in self._calls.values())

    def global_call_count(self, var: GlobalVar | str) -> int:
        """How many references to functions a function has."""
        return sum(self._calls[self._name(var)].values())

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """True when a function refers to itself."""
        name = self._name(var)
        return self._calls[name][name] > 0

    def print_var(self, var: GlobalVar | str) -> str:
        """The calls of one function as text."""
        name = self._name(var)
        lines = [f"Call graph node: {name} at: {id(self)},  #refs = {self.ref_count(name)}"]
        lines += [f"  call site: {called}" for called in self._calls[name].elements()]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return "".join(self.print_var(name) for name in self._calls)

    __repr__ = __str__


def _uses(func: object) -> list[GlobalVar]:
    """Each reference counts: a global variable is one node for many calls."""
    from tvm.relay.traverse import children

    found: list[GlobalVar] = []
    for expr in post_order(func):  # type: ignore[arg-type]
        found.extend(part for part in children(expr) if isinstance(part, GlobalVar))
    return found

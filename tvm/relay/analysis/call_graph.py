"""Which functions of a module call which."""

from __future__ import annotations

from tvm.error import TVMError
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.relay.traverse import post_order
from tvm.support.arguments import explained


class CallGraph(Object):
    """The calls between the functions of a module; several of one function by another are one."""

    @explained
    def __init__(self, module: IRModule) -> None:
        self._module = module
        self._calls: dict[str, set[str]] = {}
        for var, func in module.functions.items():
            uses = (e for e in post_order(func) if isinstance(e, GlobalVar))
            self._calls[var.name_hint] = {used.name_hint for used in uses}

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
        """How many functions refer to a function."""
        name = self._name(var)
        return sum(name in calls for calls in self._calls.values())

    def global_call_count(self, var: GlobalVar | str) -> int:
        """How many functions a function refers to."""
        return len(self._calls[self._name(var)])

    def is_recursive(self, var: GlobalVar | str) -> bool:
        """True when a function refers to itself."""
        name = self._name(var)
        return name in self._calls[name]

    def print_var(self, var: GlobalVar | str) -> str:
        """The calls of one function as text."""
        name = self._name(var)
        lines = [f"Call graph node: {name} at: {id(self)},  #refs = {self.ref_count(name)}"]
        lines += [f"  call site: <{name}> calls {called}" for called in sorted(self._calls[name])]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return "\n".join(self.print_var(name) for name in self._calls)

    __repr__ = __str__

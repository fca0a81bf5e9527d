"""Compiled programs as users of the virtual machine ask them: saved, loaded, looked into.

    code, lib = relay.vm.compile(mod, "llvm").save()        # bytes, and a library of kernels
    program = tvm.runtime.vm.Executable.load_exec(code, lib)

The bytes say the program's functions as JSON: their parameters, and what they do where there are
no kernels for it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi import register_global_func
from tvm.ir.json import load_json, save_json
from tvm.ir.module import IRModule
from tvm.relay.expr import Constant, Tuple
from tvm.relay.function import Function
from tvm.relay.traverse import post_order
from tvm.runtime.module import Module
from tvm.support.json_text import from_json

from .vm_listing import Told, constants_text, stats_text, told

_FORMAT = "tvm.relay.vm.1"


class ProgramParts(ABC):
    """What every program can be asked; subclasses have the functions and the library."""

    source: IRModule

    @property
    @abstractmethod
    def lib(self) -> Module:
        """The library of kernels."""

    @abstractmethod
    def _own_text(self) -> str:
        """What the functions do, in words of their own."""

    @abstractmethod
    def _saved(self) -> dict[str, Any]: ...

    def save(self) -> tuple[bytearray, Module]:
        """The program as bytes and a library; `load_exec` makes it of these again."""
        return bytearray(json.dumps({"format": _FORMAT, **self._saved()}).encode()), self.lib

    @property
    def module(self) -> Module:
        """The library of kernels."""
        return self.lib

    @property
    def globals(self) -> list[str]:
        """The names of the functions."""
        return sorted(var.name_hint for var, _ in self._functions())

    @cached_property
    def listing(self) -> Told | None:
        """What the program in the machine's instructions says; None for what has none."""
        return told(self.source)

    @property
    def bytecode(self) -> str:
        """What the functions do, as text."""
        return self._own_text() if self.listing is None else self.listing.text

    @property
    def primitive_ops(self) -> list[str]:
        """The names of the kernels."""
        if self.listing is not None:
            return list(self.listing.kernels)
        kernels = getattr(self.lib, "kernels", self.lib)
        return [str(name) for name in kernels.function_names()]

    @property
    def primitives(self) -> str:
        """The kernels, one a line."""
        names = enumerate(self.primitive_ops)
        return "".join(f"VM PackedFunc[{at}]: {name}\n" for at, name in names)

    @property
    def constants(self) -> str:
        """The constants, one a line: extents and types, of few integers the values."""
        if self.listing is not None:
            return self.listing.constants
        found = [e for _, func in self._functions() for e in post_order(func)]
        tensors = [e.data.numpy() for e in found if isinstance(e, Constant)]
        return constants_text(tensors)

    @property
    def virtual_devices(self) -> str:
        """The devices, one a line."""
        return "VM VirtualDevice[0]: device type 1, id 0 and mem_scope \n"

    @property
    def stats(self) -> str:
        """How many constants, functions and kernels there are."""
        if self.listing is not None:
            return self.listing.stats
        found = [e for _, func in self._functions() for e in post_order(func)]
        shapes = [tuple(e.data.shape) for e in found if isinstance(e, Constant)]
        return stats_text(shapes, self.globals, self.primitive_ops)

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of a function's parameters."""
        if func_name not in self.globals:
            raise TVMError(
                message(f"function {func_name!r}", found="none", legal=", ".join(self.globals))
            )
        func = self.source[func_name]
        assert isinstance(func, Function), "programs of Relay consist of its functions"
        return [param.name_hint for param in func.params]

    def get_function_arity(self, func_name: str) -> int:
        """How many parameters a function has."""
        return len(self.get_function_params(func_name))

    def _functions(self) -> list[tuple[Any, Function]]:
        return [(v, f) for v, f in self.source.functions.items() if isinstance(f, Function)]


def signatures(mod: IRModule) -> str:
    """The module's functions without bodies, as JSON."""
    made = {
        var: Function(func.params, Tuple([]), None, func.type_params)
        for var, func in mod.functions.items()
        if isinstance(func, Function)
    }
    return save_json(IRModule(made))


def without_kernels() -> Module:
    """A library that can be written to a file, and has nothing to call."""
    from tvm.tir import Evaluate, IntImm, PrimFunc
    from tvm.tir.build import build

    nothing = PrimFunc([], Evaluate(IntImm("int32", 0))).with_attr("global_symbol", "nothing")
    return build(IRModule({"nothing": nothing}), "llvm")


def load_exec(bytecode: Any, lib: Any) -> Any:
    """A program of the bytes and the library that `save` gave."""
    from .vm import CompiledProgram, InterpretedProgram

    if isinstance(bytecode, str):
        bytecode = bytecode.encode()
    if not isinstance(bytecode, (bytes, bytearray)):
        raise TypeError(
            "bytecode is expected to be the type of bytearray or TVMByteArray, but received "
            f"{type(bytecode).__name__}"
        )
    if lib is not None and not isinstance(lib, Module):
        raise TypeError(
            f"lib is expected to be the type of tvm.runtime.Module, but received "
            f"{type(lib).__name__}"
        )
    try:
        saved = from_json(bytes(bytecode))
        known = saved["format"] == _FORMAT
    except (ValueError, KeyError, TypeError) as error:
        raise TVMError("load_exec: these bytes are no saved program of Relay") from error
    if not known:
        raise TVMError(
            message("load_exec", found=f"format {saved['format']!r}", legal=repr(_FORMAT))
        )
    mod = load_json(saved["functions"])
    if not isinstance(mod, IRModule):
        raise TVMError(message("load_exec", found=type(mod).__name__, legal="a module"))
    if saved.get("kernels"):
        made = CompiledProgram(mod, lib)
        made.listing = Told(*saved["told"]) if saved.get("told") else None
        return made
    return InterpretedProgram(mod)


register_global_func("relay.vm.load_exec", load_exec)

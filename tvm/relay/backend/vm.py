"""The virtual machine's compiler and executor, under the names that scripts know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.function import Function
from tvm.relay.to_relax import NotFirstOrder

from .compiled import CompiledExecutor, as_module, compile_module
from .interpreter import Interpreter


def compile(
    mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Any:
    """The executable of a module; run it with `tvm.runtime.vm.VirtualMachine`."""
    found = as_module(mod, params)
    try:
        return compile_module(found, target)
    except NotFirstOrder:
        return InterpretedProgram(found)


class InterpretedProgram:
    """A program with functions, data or shapes as values: a virtual machine runs it by steps."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod

    def stepwise_machine(self, device: Any = None) -> InterpretedMachine:
        """What runs the program; `tvm.runtime.vm.VirtualMachine(program, device)` is this."""
        return InterpretedMachine(self.mod, device)


class InterpretedMachine:
    """Runs the functions of a program step by step; each operator is compiled or in numpy."""

    def __init__(self, mod: IRModule, device: Any = None) -> None:
        self.mod = mod
        self._executor = Interpreter(mod, device[0] if isinstance(device, list) else device, "llvm")
        self._functions: dict[str, Callable[..., Any]] = {}
        self._inputs: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._outputs: Any = None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self._functions:
            var = self.mod.get_global_var(name)
            self._functions[name] = self._executor.evaluate(var)
        return self._functions[name]

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep arguments for a function's next call without any."""
        self._inputs[func_name] = (args, kwargs)

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """The result of a function for arguments, or for those that were set."""
        if not args and not kwargs:
            args, kwargs = self._inputs.get(func_name, ((), {}))
        self._outputs = self[func_name](*args, **kwargs)
        return self._outputs

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The result of main."""
        return self.invoke("main", *args, **kwargs)

    def get_outputs(self) -> list[Any]:
        """The results of the last call."""
        found = self._outputs
        return list(found) if isinstance(found, list) else [found]


class VMCompiler:
    """Compiles in steps: lower, then take the executable."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._executable: Any = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Constants for parameters of main."""
        self._params = dict(params)

    def get_params(self) -> dict[str, Any]:
        """The constants that were given."""
        return dict(self._params)

    def lower(self, mod: IRModule, target: Any = None, target_host: Any = None) -> None:
        """Compile the module."""
        self._executable = compile(mod, target, target_host, self._params)

    def codegen(self) -> None:
        """Nothing is left to do once `lower` has run."""
        self.get_exec()

    def optimize(
        self,
        mod: IRModule,
        target: Any = None,
        target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, Any]]:
        """The module after the passes of Relay, with its parameters."""
        from tvm.relay.build_module import optimize

        return optimize(mod, target, {**self._params, **dict(params or {})})

    def get_exec(self) -> Any:
        """The executable."""
        if self._executable is None:
            raise RuntimeError("VMCompiler: nothing is compiled yet; call lower(mod, target) first")
        return self._executable


class VMExecutor(CompiledExecutor):
    """Runs functions on the virtual machine."""

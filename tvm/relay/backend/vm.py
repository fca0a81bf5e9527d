"""The virtual machine's compiler and executor, under the names that scripts know."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ir.json import save_json
from tvm.ir.module import IRModule
from tvm.relax.vm import VirtualMachine
from tvm.relay.function import Function
from tvm.relay.to_relax import NotFirstOrder
from tvm.runtime import cpu
from tvm.runtime.benchmark import BenchmarkResult, Timing, evaluator
from tvm.runtime.graph_runtime import flat_outputs
from tvm.runtime.module import Module
from tvm.runtime.profiling import Count, Duration, Percent, Report
from tvm.runtime.vm_executable import VMModule

from .compiled import CompiledExecutor, as_module, compile_module, listed
from .interpreter import Interpreter, as_tensor, named_arguments
from .vm_executable import ProgramParts, signatures, without_kernels


def compile(
    mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Any:
    """The executable of a module; run it with `tvm.runtime.vm.VirtualMachine`."""
    found = as_module(mod, params)
    try:
        executable = compile_module(found, target)
    except NotFirstOrder:
        return InterpretedProgram(found)
    library = executable.mod
    library.artefact = replace(library.artefact, machine="relay")  # exported with it
    return CompiledProgram(found, executable)


class CompiledProgram(ProgramParts):
    """A compiled program; what its executable can be asked, it can be asked, too."""

    def __init__(self, mod: IRModule, executable: Any) -> None:
        self.source = mod
        self.executable = executable

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "executable":
            raise AttributeError(f"CompiledProgram has no attribute {name!r}")
        return getattr(self.executable, name)

    @property
    def lib(self) -> Module:
        """The library of kernels."""
        found: Module = getattr(self.executable, "mod", self.executable)
        return found

    @property
    def mod(self) -> Module:
        """The library, which can be exported and run by itself."""
        return self.lib

    def _own_text(self) -> str:
        """The code of the machine that runs it."""
        return str(self.executable.as_text())

    def _saved(self) -> dict[str, Any]:
        return {"kernels": True, "functions": signatures(self.source), "told": self.listing}

    def stepwise_machine(self, device: Any = None) -> CompiledMachine:
        """What runs the program; `tvm.runtime.vm.VirtualMachine(program, device)` is this."""
        return CompiledMachine(self.executable, device, self.get_function_params)


class InterpretedProgram(ProgramParts):
    """A program with functions, data or shapes as values: a virtual machine runs it by steps."""

    def __init__(self, mod: IRModule) -> None:
        self.source = self.mod = mod
        self._lib: Module | None = None

    @property
    def lib(self) -> Module:
        """A library without kernels."""
        if self._lib is None:
            self._lib = without_kernels()
        return self._lib

    def _own_text(self) -> str:
        """The program as it is."""
        return self.source.astext(show_meta_data=False)

    def _saved(self) -> dict[str, Any]:
        return {"kernels": False, "functions": save_json(self.source)}

    def stepwise_machine(self, device: Any = None) -> InterpretedMachine:
        """What runs the program; `tvm.runtime.vm.VirtualMachine(program, device)` is this."""
        return InterpretedMachine(self.mod, device)


class RelayMachine:
    """Runs functions of a program by name; subclasses say how."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        self._inputs: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        self._outputs: Any = None
        self._targets: dict[str, tuple[Any, ...]] = {}

    def _function(self, name: str) -> Callable[..., Any]:
        raise NotImplementedError

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self._functions:
            self._functions[name] = self._function(name)
        return self._functions[name]

    def benchmark(
        self, device: Any, *args: Any, func_name: str = "main", repeat: int = 5, number: int = 5,
        min_repeat_ms: int | None = None, limit_zero_time_iterations: int = 100,
        end_to_end: bool = False, cooldown_interval_ms: int = 0, repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:  # fmt: skip
        """How long a call takes; with `end_to_end` its result is copied to the host each time."""
        timing = Timing(
            number, repeat, min_repeat_ms or 0, limit_zero_time_iterations, cooldown_interval_ms,
            repeats_to_cooldown,
        )  # fmt: skip
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)

        def once() -> None:
            found = self.invoke(func_name)
            if end_to_end:
                for value in flat_outputs(found):
                    value.numpy()

        return evaluator(once, device, timing)()

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep arguments for a function's next call without any."""
        named_arguments(self._parameters(func_name), args, kwargs)
        self._inputs[func_name] = (args, kwargs)

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep one argument, given as index or name and value, or as `name=value`."""
        names = self._parameters(func_name)
        pair = tuple(args) if args else next(iter(kwargs.items()), ())
        if len(pair) != 2 or len(args) + 2 * len(kwargs) != 2:
            raise TVMError(
                message(
                    f"set_one_input of {func_name}", found=f"{len(args)} and {sorted(kwargs)}",
                    legal="an index or name with its value, or name=value",
                )
            )
        which, value = pair
        at = names.index(which) if which in names else which
        if not isinstance(at, int) or not 0 <= at < len(names):
            raise TVMError(message(f"no input {which!r} of {func_name}", legal=", ".join(names)))
        known = self._inputs.get(func_name, ((), {}))
        given = {**dict(zip(names, known[0])), **known[1], names[at]: value}
        self._inputs[func_name] = ((), given)

    def _parameters(self, func_name: str) -> list[str]:
        raise NotImplementedError

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The index of a parameter, or -1."""
        names = self._parameters(func_name)
        return names.index(input_name) if input_name in names else -1

    def set_outputs(self, func_name: str, *args: Any) -> None:
        """Tensors that take the results of the next call of a function without arguments."""
        self._targets[func_name] = args

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Run a function; `get_outputs` has its results."""
        self.invoke(func_name, *args, **kwargs)

    def invoke_with_outputs(
        self, func_name: str, input_args: Mapping[str, Any], output_args: Sequence[Any]
    ) -> None:
        """Run a function on arguments by name; its results go into the given tensors."""
        self.set_input(func_name, **input_args)
        self.set_outputs(func_name, *output_args)
        self.invoke_stateful(func_name)

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """The result of a function for arguments, or for those that were set."""
        if not args and not kwargs:
            args, kwargs = self._inputs.get(func_name, ((), {}))
        self._outputs = self[func_name](*args, **kwargs)
        for value, target in zip(self.get_outputs(), self._targets.pop(func_name, ())):
            value.copyto(target)
        return self._outputs

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The result of main."""
        return self.invoke("main", *args, **kwargs)

    def profile(
        self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any
    ) -> Report:
        """The time of each kernel in a call, or in one with the arguments that were set.

        Times are what is collected; `collectors` has to be empty.
        """
        if collectors:
            raise TVMError(message("profile", found=f"collectors={collectors}", legal="None"))
        if not args and not kwargs:
            args, kwargs = self._inputs.get(func_name, ((), {}))
        return self._profile(func_name, args, kwargs)

    def _profile(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
        raise NotImplementedError

    def get_outputs(self) -> list[Any]:
        """The results of the last call."""
        found = self._outputs
        return list(found) if isinstance(found, list) else [found]


class CompiledMachine(RelayMachine):
    """A virtual machine for a compiled program; `parameters` gives the names of a function's."""

    def __init__(
        self, executable: Any, device: Any, parameters: Callable[[str], Sequence[str]]
    ) -> None:
        super().__init__()
        device = cpu() if device is None else device
        self.device = device[0] if isinstance(device, list) else device
        self._machine = _KernelMachine(executable, device)
        self._names = parameters

    def __getattr__(self, name: str) -> Any:
        """What else the machine can do."""
        if name.startswith("_"):
            raise AttributeError(f"CompiledMachine has no attribute {name!r}")
        return getattr(self._machine, name)

    def _function(self, name: str) -> Callable[..., Any]:
        callee = self._machine[name]

        def run(*args: Any, **kwargs: Any) -> Any:
            return listed(callee(*self._tensors(name, args, kwargs)))

        return run

    def _tensors(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        given = named_arguments(self._names(name), args, kwargs)
        return [as_tensor(arg, self.device) for arg in given]

    def _profile(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
        found = self._machine.profile(name, *self._tensors(name, args, kwargs))
        calls = [{**call, "Name": _shown(str(call["Name"]))} for call in found.calls]
        return Report(calls, found.device_metrics, found.configuration)

    def _parameters(self, func_name: str) -> list[str]:
        return list(self._names(func_name))


_INSTRUCTIONS: Final = {
    "vm.builtin.alloc_storage": "AllocStorage", "vm.builtin.alloc_tensor": "AllocTensor",
    "vm.builtin.reshape": "ReshapeTensor", "vm.builtin.shape_of": "ShapeOf",
}  # fmt: skip


def _shown(name: str) -> str:
    """The name of a step in a report: an instruction, or a kernel by the operators of Relay.

    Relax says `tir_exp` for a kernel whose plain name is a function of its library.
    """
    return _INSTRUCTIONS.get(name) or re.sub(r"(?<![^_])tir_", "", name)


class _KernelMachine(VirtualMachine):
    """The machine of Relax under one of Relay."""


def machine_of_library(library: VMModule, device: Any) -> CompiledMachine:
    """What runs a library that a program of Relay was exported as."""

    def parameters(name: str) -> list[str]:
        info = library.artefact.function(name)
        if info is None:
            known = ", ".join(library.function_names())
            raise TVMError(message(f"function {name!r}", found="none", legal=known))
        return [value.name for value in info.params]

    return CompiledMachine(library, device, parameters)


class InterpretedMachine(RelayMachine):
    """Runs the functions of a program step by step; each operator is compiled or in numpy."""

    def __init__(self, mod: IRModule, device: Any = None) -> None:
        super().__init__()
        self.mod = mod
        self._executor = Interpreter(mod, device[0] if isinstance(device, list) else device, "llvm")

    def _parameters(self, func_name: str) -> list[str]:
        func = self.mod[func_name]
        assert isinstance(func, Function), "programs of Relay consist of its functions"
        return [param.name_hint for param in func.params]

    def _function(self, name: str) -> Callable[..., Any]:
        made: Callable[..., Any] = self._executor.evaluate(self.mod.get_global_var(name))
        return made

    def _profile(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
        func = self[name]
        start = time.perf_counter()
        func(*args, **kwargs)
        taken = {"Duration (us)": Duration((time.perf_counter() - start) * 1e6)}
        whole = {**taken, "Percent": Percent(100.0)}
        call = {"Name": name, **whole, "Device": "cpu0", "Count": Count(1)}
        return Report([call], {"cpu0": whole}, {"Executor": "VM", "Function": name})


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

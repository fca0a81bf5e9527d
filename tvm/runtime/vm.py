"""The virtual machine: runs compiled graphs, natively where they are native code."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from typing_extensions import Self

from tvm.error import ArgumentCountError, ArgumentNameError, TVMError, message
from tvm.ffi.library import library
from tvm.support.suggest import did_you_mean

from ._device import Device, cpu
from ._tensor import Tensor, from_host, tensor
from .artefact import Artefact, FunctionInfo, KernelInfo
from .benchmark import BenchmarkResult, Timing, evaluator
from .bytecode import BytecodeFunction, Call, Reg
from .executable import Executable
from .hot_sizes import HotSizes, Shapes, SizedFunction, SizeReport, Variant, no_source
from .interruption import limited
from .module import Module, load_own
from .profiling import Count, Duration, Percent, Report
from .vm_builtin import Closure, outside
from .vm_executable import MACHINE_SERVICES, VMModule
from .vm_interpreter import Interpreter

PROFILE_SUFFIX = ".profile"
_MACHINES: Final = {"relay": "tvm.relay.backend.vm"}


class UnknownFunctionError(AttributeError, ValueError):
    """The executable has no function of this name."""


class VMInstrumentReturnKind(IntEnum):
    """What an instrument answers before a call."""

    NO_OP = 0
    SKIP_RUN = 1


class VirtualMachine:
    """Runs the functions of an executable on a device: `vm["main"](x)`."""

    NAIVE_ALLOCATOR: ClassVar[int] = 1
    POOLED_ALLOCATOR: ClassVar[int] = 2

    def __new__(
        cls,
        rt_mod: Module | Executable,
        device: Device | Sequence[Device] | None = None,
        memory_cfg: str | Mapping[Device, str] | None = None,
        profile: bool = False,
    ) -> Self:
        # of a program at the other end of a session, by name: sessions stand a floor above
        if getattr(rt_mod, "kind", "") == "rpc":
            remote = importlib.import_module("tvm.rpc.remote_vm")
            made: Self = object.__new__(remote.RemoteVirtualMachine)
            return made
        _check_memory(memory_cfg)
        # of a program that is no compiled one: it brings what runs it
        stepwise = getattr(rt_mod, "stepwise_machine", None)
        if stepwise is not None:
            own: Self = stepwise(device)
            return own
        # of a library of another language, whose machine stands floors above
        language = getattr(getattr(rt_mod, "artefact", None), "machine", "")
        if cls is VirtualMachine and language in _MACHINES:
            other: Self = importlib.import_module(_MACHINES[language]).machine_of_library(
                rt_mod, device
            )
            return other
        return object.__new__(cls)

    def __init__(
        self,
        rt_mod: Module | Executable,
        device: Device | Sequence[Device] | None = None,
        memory_cfg: str | Mapping[Device, str] | None = None,
        profile: bool = False,
    ) -> None:
        module = rt_mod.jit() if isinstance(rt_mod, Executable) else rt_mod
        if not isinstance(module, VMModule):
            raise ValueError(
                message(
                    "VirtualMachine",
                    found=f"a {module.kind} module" if isinstance(module, Module)
                    else type(module).__name__,
                    legal="the result of compiling a Relax module, or a library exported from it",
                )
            )  # fmt: skip
        self.module = module
        module.machine = weakref.ref(self)
        self.devices = _devices(device)
        self._saved: dict[str, Callable[..., Any]] = {}
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}
        self._interpreter: Interpreter | None = None
        self._sized: dict[str, SizedFunction] = {}
        self._hot_sizes = HotSizes(module.variant_builder, self._variant_of)

    @property
    def artefact(self) -> Artefact:
        """What the program says about itself."""
        return self.module.artefact

    def device_at(self, index: int) -> Device:
        """One of the devices by its number."""
        return self.devices[index]

    # --- calling ---

    def __getitem__(self, key: str) -> Callable[..., Any]:
        saved = self._saved.get(key)
        if saved is not None:
            return saved
        sized = self._of_sizes(key)
        return self._general(key) if sized is None else sized

    def _general(self, key: str) -> Callable[..., Any]:
        """The function for all sizes."""
        native: Callable[..., Any] | None = self._native(key)
        if native is not None:
            return native
        if key in MACHINE_SERVICES and self.artefact.function(key) is None:
            service: Callable[..., Any] = getattr(self, MACHINE_SERVICES[key])
            return service
        code = self._bytecode(key)

        def call(*args: Any) -> Any:
            return self._run_code(code, args)

        return call

    def _of_sizes(self, key: str) -> SizedFunction | None:
        """The function that runs variants, where a function has or may get some."""
        if self._interpreter is not None and self._interpreter.hook is not None:
            return None
        sized = self._sized.get(key)
        info = None if sized is not None else self.artefact.function(key)
        if info is None or all(isinstance(e, int) for p in info.params for e in p.shape):
            return sized
        built_in = [name for name, of in self.artefact.variants.items() if of == key]
        if not built_in and (self.module.variant_builder is None or key in self.artefact.variants):
            return None
        sized = self._hot_sizes.watched(info, self._general(key))
        for name in built_in:
            made = self.signature(name)
            shapes = {p.name: tuple(int(e) for e in p.shape) for p in made.params}
            variant = Variant(key, shapes, "built in", "ready")
            self._hot_sizes.variants.append(variant)
            sized.add(sized.sizes(shapes), self._general(name), variant)
        self._sized[key] = sized
        return sized

    def _variant_of(self, path: str, name: str) -> Callable[..., Any]:
        """A function of a library that was made for this machine."""
        return VirtualMachine(load_own(path), self.devices)[name]

    def specialize(
        self, shapes: Shapes | Sequence[Shapes], wait: bool = True, func_name: str = "main"
    ) -> None:
        """Compile a function for given shapes of its inputs, beside the running program.

        `shapes` maps names of inputs to shapes; a list of such maps asks for several variants.
        Calls of these sizes run the variant as soon as it is there: with `wait` when this returns.
        Results differ by rounding at most. Raises ValueError for shapes that do not fit, and
        TVMError for a program that was loaded, or a variant that could not be compiled.
        """
        builder = self.module.variant_builder
        if builder is None:
            raise no_source(func_name)
        several = [shapes] if isinstance(shapes, Mapping) else list(shapes)
        complete = [builder.complete(func_name, one) for one in several]
        sized = self._of_sizes(func_name)
        if sized is None:
            raise ValueError(
                message(
                    f"specialize {func_name!r}",
                    found="a function whose sizes are fixed",
                    legal="a function with symbolic sizes",
                )
            )
        threads = [self._hot_sizes.make(sized, one, "asked for") for one in complete]
        if not wait:
            return
        for thread in threads:
            if thread is not None:
                thread.join()
        for one in self._hot_sizes.variants:
            if one.state == "failed" and one.function == func_name and one.shapes in complete:
                raise TVMError(one.found)

    def report(self) -> SizeReport:
        """Which sizes have variants of their own, what they gained and which were used."""
        return self._hot_sizes.report()

    def _native(self, name: str) -> Any:
        """The native form of a function, or None."""
        if self._interpreter is not None and self._interpreter.hook is not None:
            return None  # instruments and profiles look between the kernels
        if self.artefact.function(name) is None:
            return None
        kernels = self.module.kernels
        return kernels.get_function(name) if kernels.implements_function(name) else None

    def _bytecode(self, name: str) -> BytecodeFunction:
        code = self.artefact.bytecode
        found = None if code is None else code.find(name)
        if found is None:
            known = [f.name for f in self.artefact.functions] + list(self._saved)
            raise UnknownFunctionError(
                message(
                    f"vm[{name!r}]",
                    found=f"no function of this name{did_you_mean(name, known)}",
                    legal=", ".join(known) or "none",
                )
            )
        return found

    def _machine(self) -> Interpreter:
        if self._interpreter is None:
            code = self.artefact.bytecode
            assert code is not None, "the caller found a function in it"
            constants = self.module.constants_on(self.devices[0])
            dev = self.devices[0]
            alone = dev.type != "cpu" and len(self.devices) == 2  # beside the host
            self._interpreter = Interpreter(
                self, code, self.module.kernels, constants, dev if alone else None,
                self.artefact.launching,
            )  # fmt: skip
        return self._interpreter

    def _run_code(self, func: BytecodeFunction, args: tuple[Any, ...]) -> Any:
        if len(args) != len(func.params):
            raise ArgumentCountError(
                message(
                    f"{func.name}: {len(func.params)} arguments",
                    found=f"{len(args)}",
                    legal=", ".join(func.params) or "none",
                )
            )
        return outside(self._machine().run(func, self._values(args)))

    def _values(self, args: Iterable[Any], move: bool = False) -> tuple[Any, ...]:
        """Arguments as the program takes them; arrays go to the machine's device.

        With `move` tensors of the host go there too.
        """
        return tuple(as_value(arg, self.devices[0], move) for arg in args)

    def run(self, name: str, args: tuple[Any, ...]) -> Any:
        """Call a function of the program by name."""
        return self[name](*args)

    def invoke(self, func_name: str, *args: Any, timeout: float | None = None) -> Any:
        """Call a function of the program by name, within `timeout` seconds.

        Raises CallTimeout, which names the kernel that was running. `with time_limit(...)` of
        `tvm.runtime` does the same for any calls of a thread, and can be cancelled.
        """
        return limited(self[func_name], timeout, args)

    def invoke_closure(self, closure: Any, *args: Any) -> Any:
        """Call a closure that the program returned."""
        if not callable(closure):
            raise TypeError(
                message(
                    "invoke_closure",
                    found=type(closure).__name__,
                    legal="a closure that the program returned",
                )
            )
        return closure(*args)

    def save_function(
        self,
        func_name: str,
        saved_name: str,
        *args: Any,
        include_return: bool = True,
        **kwargs: Any,
    ) -> None:
        """Make `vm[saved_name]()` a call of a function with these arguments.

        Where they are only the first ones, it takes those that remain.
        """
        func = self[func_name]
        if kwargs or len(_fields(args)) >= len(self._param_names(func_name)):
            values = self._bound(func_name, args, kwargs)
        else:
            values = self._values(args, move=True)

        def call(*rest: Any) -> Any:
            result = func(*values, *rest)
            return result if include_return else None

        self._saved[saved_name] = call

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep the arguments of the next `invoke_stateful`."""
        self._inputs[func_name] = self._bound(func_name, args, kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function on the arguments kept by `set_input`, and keep its result."""
        if func_name not in self._inputs:
            raise ValueError(
                message(
                    f"invoke_stateful({func_name!r})",
                    found="no arguments are set",
                    legal=f"vm.set_input({func_name!r}, ...) first",
                )
            )
        self._outputs[func_name] = self[func_name](*self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """What the last `invoke_stateful` gave."""
        if func_name not in self._outputs:
            raise ValueError(
                message(
                    f"get_outputs({func_name!r})",
                    found="the function has not run",
                    legal=f"vm.invoke_stateful({func_name!r}) first",
                )
            )
        return as_tuples(self._outputs[func_name])

    def output_arity(self, func_name: str, *path: int) -> int:
        """How many fields the last result has, or a part of it; -1: it is no tuple."""
        value = self._part(func_name, path)
        return len(value) if isinstance(value, (tuple, list)) else -1

    def output(self, func_name: str, *path: int) -> Any:
        """The last result, or a part of it."""
        return self._part(func_name, path)

    def _part(self, func_name: str, path: tuple[int, ...]) -> Any:
        value = self.get_outputs(func_name)
        for index in path:
            value = value[index]
        return value

    def function_arity(self, func_name: str) -> int:
        """How many parameters a function has."""
        return len(self._param_names(func_name))

    def function_param_name(self, func_name: str, index: int) -> str:
        """The name of a parameter."""
        names = self._param_names(func_name)
        if not 0 <= index < len(names):
            legal = f"0 <= index < {len(names)}"
            raise ValueError(message(f"parameter {index} of {func_name}", legal=legal))
        return names[index]

    def _save_service(
        self, func_name: str, saved_name: str, include_return: bool, *args: Any
    ) -> None:
        self.save_function(func_name, saved_name, *args, include_return=bool(include_return))

    def _param_names(self, func_name: str) -> list[str]:
        info = self.artefact.function(func_name)
        if info is not None:
            return [p.name for p in info.params]
        return list(self._bytecode(func_name).params)

    def _bound(
        self, func_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """The arguments in order; keywords are found by the names of the parameters."""
        names = self._param_names(func_name)
        parameters = [inspect.Parameter(f"p{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD)
                      for i in range(len(names))]  # fmt: skip
        renamed = {name: f"p{i}" for i, name in enumerate(names)}
        unknown = [name for name in kwargs if name not in renamed]
        if not unknown:
            try:
                named = {renamed[name]: value for name, value in kwargs.items()}
                bound = inspect.Signature(parameters).bind(*args, **named)
                return self._values(self._with_scalars(func_name, bound.args), move=True)
            except TypeError:
                # compiled functions have a parameter for each field of a tuple
                if not kwargs and len(_fields(args)) == len(names):
                    return self._values(args, move=True)
        kind = ArgumentNameError if kwargs else ArgumentCountError
        raise kind(
            message(
                f"arguments of {func_name}",
                found=f"{len(args)} by position, {', '.join(kwargs) or 'none'} by name",
                legal=", ".join(names) or "none",
            )
        )

    def _with_scalars(self, func_name: str, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments; a plain number for a tensor is one of no dimensions.

        Its type is bool, int32 or float32. A number for a number stays one.
        """
        if not any(type(arg) in _SCALARS for arg in args):
            return args
        # native functions take tensors only
        native = self._native(func_name) is not None
        tensors: Collection[int] = range(len(args)) if native else self._tensor_params(func_name)
        return [
            np.asarray(arg, _SCALARS[type(arg)]) if i in tensors and type(arg) in _SCALARS else arg
            for i, arg in enumerate(args)
        ]

    def _tensor_params(self, func_name: str) -> Collection[int]:
        """The parameters that a program checks to be tensors."""
        code = self.artefact.bytecode
        found: set[int] = set()
        for step in self._bytecode(func_name).instructions:
            if isinstance(step, Call) and code is not None and step.args:
                first = step.args[0]
                if code.func_table[step.func] == "vm.builtin.check_tensor_info":
                    found.update({first.index} if isinstance(first, Reg) else ())
        return found

    # --- looking ---

    def signature(self, func_name: str) -> FunctionInfo:
        """What a function takes and gives: `.params` and `.results` of (name, shape, dtype)."""
        found = self.artefact.function(func_name)
        if found is None:
            known = [f.name for f in self.artefact.functions]
            raise ValueError(
                message(
                    f"signature of {func_name!r}",
                    found=f"no function of this name{did_you_mean(func_name, known)}",
                    legal=", ".join(known) or "none",
                )
            )
        return found

    def set_instrument(self, instrument: Callable[..., Any] | None) -> None:
        """Call `instrument(func, name, before_run, ret_value, *args)` around every call.

        Programs run as bytecode from then on. SKIP_RUN before a call leaves the call out, and
        what would come after it.
        """
        if instrument is None:
            if self._interpreter is not None:
                self._interpreter.hook = None
            return
        self._become_bytecode()
        machine = self._machine()

        def hook(name: str, func: Callable[..., Any], args: tuple[Any, ...]) -> Any:
            answer = instrument(func, name, True, None, *args)
            if answer is not None and int(answer) == VMInstrumentReturnKind.SKIP_RUN:
                return None
            result = func(*args)
            instrument(func, name, False, result, *args)
            return result

        machine.hook = hook

    def _become_bytecode(self) -> None:
        """Have every function as bytecode; native code does not stop between its kernels."""
        code = self.artefact.bytecode
        if code is not None and all(code.find(f.name) for f in self.artefact.functions):
            return
        if self.module.bytecode_form is None:
            raise TVMError(
                message(
                    "set_instrument",
                    found="a program without bytecode, whose source is not here",
                    legal='relax.build(..., exec_mode="bytecode")',
                )
            )
        self.module = self.module.bytecode_form()
        self._interpreter = None

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that measures `func_name` on its arguments and gives a BenchmarkResult."""
        timing = Timing(
            number,
            repeat,
            min_repeat_ms,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
            f_preproc=f_preproc,
        )
        return evaluator(self[func_name], dev, timing)

    def profile(self, func_name: str, *args: Any) -> Report:
        """Run a function once and report the time of each kernel."""
        if self._is_timed(func_name):
            times, order = self._read_clock(func_name, args, contextlib.nullcontext())
            spent, counts = times[1 : len(order) + 1] / 1000.0, times[len(order) + 1 :]
            rows = [(k.name, float(us), int(count)) for k, us, count in zip(order, spent, counts)]
            sources = [", ".join(kernel.sources) for kernel in order]
        else:
            laps = self.laps(func_name, *args)
            rows = [(lap.name, (lap.end_ns - lap.start_ns) / 1000.0, 1) for lap in laps]
            known = {k.name: ", ".join(k.sources) for k in self.artefact.kernels}
            sources = [known.get(lap.name, "") for lap in laps]
        total = sum(row[1] for row in rows) or 1.0
        device = f"{self.devices[0].type}{self.devices[0].index}"
        calls = [
            {
                "Name": name,
                "Duration (us)": Duration(us),
                "Percent": Percent(100 * us / total),
                "Device": device,
                "Count": Count(count),
                "Sources": source,
            }
            for (name, us, count), source in zip(rows, sources)
        ]
        metrics = {device: {"Duration (us)": Duration(total), "Percent": Percent(100.0)}}
        return Report(calls, metrics, {"Executor": "VM", "Function": func_name})

    def laps(
        self, func_name: str, *args: Any,
        around: contextlib.AbstractContextManager[object] | None = None,
    ) -> list[Lap]:  # fmt: skip
        """When each call of a kernel began and ended, in one run of a function.

        The run is made within the context `around`, behind one that warms up.
        """
        run = around or contextlib.nullcontext()
        if self._is_timed(func_name):
            times, order = self._read_clock(func_name, args, run)
            return _laps(times, [kernel.name for kernel in order])
        code = self.artefact.bytecode
        if code is not None and code.find(func_name):
            return self._code_laps(func_name, self._given(func_name, args), run)
        func, values = self[func_name], self._given(func_name, args)
        func(*values)
        with run:
            start = time.monotonic_ns()
            func(*values)
            return [Lap(func_name, 0, start, time.monotonic_ns())]

    def _given(self, func_name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if not args and func_name in self._inputs:
            return tuple(self._inputs[func_name])
        return self._values(args)

    def _is_timed(self, func_name: str) -> bool:
        """Whether there is native code of the function that times its calls."""
        return func_name in self.artefact.profile_calls and (
            self.module.kernels.implements_function(func_name + PROFILE_SUFFIX)
        )

    def _read_clock(
        self, func_name: str, args: tuple[Any, ...],
        run: contextlib.AbstractContextManager[object],
    ) -> tuple[np.ndarray[Any, np.dtype[np.int64]], list[KernelInfo]]:  # fmt: skip
        """What a function says of the times of its calls, and their kernels.

        Of all calls of a kernel in a loop it adds the times up.
        """
        order = self.artefact.profile_calls[func_name]
        kept = self.artefact.profile_readings.get(func_name, 0)
        times = np.zeros(2 * len(order) + 1 + (2 * kept + 1 if kept else 0), np.int64)
        timed = self.module.kernels.get_function(func_name + PROFILE_SUFFIX)
        clock, values = from_host(times), self._given(func_name, args)
        timed(clock, *values)  # once to warm up: pages, caches, threads
        times[:] = 0
        with run:
            timed(clock, *values)
        return times, [self.artefact.kernels[i] for i in order]

    def _code_laps(
        self, func_name: str, args: tuple[Any, ...],
        run: contextlib.AbstractContextManager[object],
    ) -> list[Lap]:  # fmt: skip
        """Times of the calls that the interpreter makes."""
        machine = self._machine()
        found: list[Lap] = []

        def hook(name: str, func: Callable[..., Any], given: tuple[Any, ...]) -> Any:
            if isinstance(func, Closure):
                return func(*given)
            made: list[Any] = []
            start = time.monotonic_ns()
            taken = self.devices[0].seconds(lambda: made.append(func(*given)))
            found.append(Lap(name, len(found), start, start + int(taken * 1e9)))
            return made[0]

        before, machine.hook = machine.hook, hook
        try:
            with run:
                machine.run(self._bytecode(func_name), args)
        finally:
            machine.hook = before
        return found


class Lap(NamedTuple):
    """A call of a kernel: its number in the function, and nanoseconds of the monotonic clock."""

    name: str
    number: int
    start_ns: int
    end_ns: int


def _laps(times: np.ndarray[Any, np.dtype[np.int64]], names: list[str]) -> list[Lap]:
    """The calls by what the profiling form says: readings one by one, or sums to count back."""
    found: list[Lap] = []
    first = 2 * len(names) + 1
    if len(times) > first:
        readings = times[first + 1 :].reshape(-1, 2)[: int(times[first])].tolist()
        for (_, start), (index, end) in pairwise(readings):
            found.append(Lap(names[index - 1], index - 1, start, end))
        return found
    end = int(times[0])
    for number in reversed(range(len(names))):
        if times[len(names) + 1 + number]:
            start = end - int(times[number + 1])
            found.append(Lap(names[number], number, start, end))
            end = start
    return found[::-1]


_SCALARS: Final[dict[type, str]] = {bool: "bool", int: "int32", float: "float32"}


def as_value(value: Any, dev: Device | None = None, move: bool = False) -> Any:
    """An argument as programs take it: arrays become tensors, without a copy where possible.

    They go to the device `dev`; with `move` tensors of the host do so too.
    """
    far = dev is not None and dev.type != "cpu"
    if isinstance(value, np.ndarray):
        return from_host(value) if value.flags.c_contiguous and not far else tensor(value, dev)
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, Tensor):
        return value.copyto(dev) if move and far and value.device.type == "cpu" else value
    if isinstance(value, (list, tuple)) and any(
        isinstance(v, (np.ndarray, Tensor, list, tuple)) for v in value
    ):
        return [as_value(v, dev, move) for v in value]
    return value


_GPUS: Final = ("cuda", "rocm", "metal", "opencl", "vulkan", "webgpu")


def _fields(values: Iterable[Any]) -> list[Any]:
    """The values, the fields of tuples one by one."""
    found: list[Any] = []
    for value in values:
        found += _fields(value) if isinstance(value, (list, tuple)) else [value]
    return found


def as_tuples(value: Any) -> Any:
    """A result with plain tuples instead of the arrays that functions make of several values."""
    if isinstance(value, (list, library().Array)) or type(value) is tuple:
        return tuple(as_tuples(field) for field in value)
    return value


def _devices(device: Device | Sequence[Device] | None) -> list[Device]:
    if device is None:
        return [cpu()]
    several = [device] if isinstance(device, Device) else list(device)
    if not several or not all(isinstance(d, Device) for d in several):
        raise TypeError(
            message(
                "VirtualMachine", found=f"device={device!r}", legal="a device, or a list of them"
            )
        )
    for one in several:
        if one.type in _GPUS and not one.exist:
            raise TVMError(
                message(
                    f"VirtualMachine on {one}",
                    found="no such device on this machine",
                    legal="a device whose `exist` is true, as tvm.cpu()",
                )
            )
    if all(d.type != "cpu" for d in several):
        several.append(cpu())  # shapes are computed on the host
    return several


def _check_memory(memory_cfg: str | Mapping[Device, str] | None) -> None:
    if memory_cfg is not None and not isinstance(memory_cfg, (str, Mapping)):
        raise TypeError(
            message("VirtualMachine", found=f"memory_cfg {memory_cfg!r}",
                    legal="naive, pooled, or one of them for each device")
        )  # fmt: skip
    kinds = [memory_cfg] if isinstance(memory_cfg, str) else list((memory_cfg or {}).values())
    wrong = [kind for kind in kinds if kind not in ("naive", "pooled")]
    if wrong:
        raise ValueError(
            message("VirtualMachine", found=f"memory_cfg {wrong[0]!r}", legal="naive, pooled")
        )

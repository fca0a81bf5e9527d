"""Compiled graphs: kernels, the graph itself as native code or bytecode, and constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tvm.error import TVMError, message

from . import late_constants
from ._device import Device, device
from ._tensor import Tensor
from .artefact import Artefact, FunctionInfo
from .executable import Executable
from .graph_runtime import GraphRuntime
from .hot_sizes import Builder
from .module import RUNNABLE, Module

if TYPE_CHECKING:
    from .vm import VirtualMachine

# What a machine does besides its program's functions, as functions by name.
MACHINE_SERVICES: Final = {
    "get_function_arity": "function_arity", "get_function_param_name": "function_param_name",
    "get_output": "output", "get_output_arity": "output_arity",
    "invoke_closure": "invoke_closure", "invoke_stateful": "invoke_stateful",
    "profile": "profile", "save_function": "_save_service", "set_input": "set_input",
    "set_instrument": "set_instrument",
}  # fmt: skip


class VMModule(Module):
    """The runtime module of a compiled graph; a virtual machine runs it."""

    kind = "relax.VMExecutable"

    def __init__(
        self, artefact: Artefact, kernels: Module, constants: tuple[Tensor, ...] = ()
    ) -> None:
        super().__init__()
        self.artefact = artefact
        self.kernels = kernels
        self.constants = constants
        self.missing = dict(artefact.late)
        # Makes the same program as bytecode, where this one is native and its source is at hand.
        self.bytecode_form: Callable[[], VMModule] | None = None
        # The name under which the compile cache may have the program.
        self.kept_as: str | None = None
        # Compiles functions for given sizes, where the source is at hand.
        self.variant_builder: Builder | None = None
        # The machine that runs what is asked of the module by name: the last one made of it.
        self.machine: Callable[[], VirtualMachine | None] = _no_machine
        self._own_machine: VirtualMachine | None = None
        self._device_constants: dict[Device, tuple[Tensor, ...]] = {}
        self.import_module(kernels)

    def constants_on(self, dev: Device) -> tuple[Tensor, ...]:
        """The constants on a device; machines on one device share them."""
        if self.missing:
            raise TVMError(
                message("a program whose constants are elsewhere", found=", ".join(self.missing),
                        legal="load_late_bound_consts(path) before it runs")
            )  # fmt: skip
        if dev.type == "cpu":
            return self.constants
        if dev not in self._device_constants:
            self._device_constants[dev] = tuple(one.copyto(dev) for one in self.constants)
        return self._device_constants[dev]

    def set_constants(self, given: Mapping[int, Tensor]) -> None:
        """Have other constants at some places."""
        self.constants = tuple(given.get(at, one) for at, one in enumerate(self.constants))
        self._device_constants.clear()

    def get_late_bound_consts(self, byte_limit: int) -> dict[str, Tensor]:
        """The constants of more bytes by name, which are out of the program then."""
        return late_constants.take(self, byte_limit)

    def move_late_bound_consts(self, path: str, byte_limit: int) -> None:
        """Write the constants of more bytes to a file, out of the program."""
        late_constants.move(self, path, byte_limit)

    def load_late_bound_consts(self, path: str) -> None:
        """Read the constants that `move_late_bound_consts` wrote."""
        late_constants.load(self, path)

    def load_late_bound_consts_from_map(self, map: Mapping[str, Any]) -> None:
        """Take the constants that `get_late_bound_consts` gave."""
        late_constants.give(self, map)

    def function_names(self) -> list[str]:
        return [f.name for f in self.artefact.functions]

    def _find(self, name: str) -> Any:
        return self.kernels._find(name)

    def get_function(self, name: str, query_imports: bool = False) -> Any:
        """The function called `name`.

        That of the program's name, or "default", makes states of its graph, as graph executors do.
        """
        graph = self.artefact.graph
        if name in (graph.name, "default") and self._graph() is not None:
            return self._graph_runtime
        if name == "get_graph_json" and graph.json:
            return lambda: graph.json
        if name == "list_module_names" and graph.executor == "aot":
            return lambda: [graph.name]
        return super().get_function(name, query_imports)

    def _graph(self) -> FunctionInfo | None:
        return self.artefact.function("main")

    def _graph_runtime(self, *devices: Any) -> GraphRuntime:
        from .vm import VirtualMachine  # it runs these modules

        graph, info = self.artefact.graph, self._graph()
        check_devices(graph.executor, devices)
        assert info is not None, "asked before"
        main = VirtualMachine(self, devices[0])["main"]
        return GraphRuntime(
            main, info.params, len(info.results), devices[0], graph.bound, graph.json
        )

    def _entry_name(self) -> str | None:
        return self.artefact.entry or super()._entry_name()

    def get_property_mask(self) -> int:
        return RUNNABLE

    def inspect_source(self, fmt: str = "") -> str:
        return self.kernels.inspect_source(fmt)

    def _about_itself(self, name: str) -> Any:
        if name in ("as_text", "as_python", "stats") or "_late_bound_consts" in name:
            return getattr(self, name)
        if name in ("vm_load_executable", "vm_profiler_load_executable"):
            return lambda: self
        if name == "vm_initialization":
            return self._initialize
        if self.artefact.function(name) is not None or name in MACHINE_SERVICES:
            return self._running()[name]
        return super()._about_itself(name)

    def _initialize(self, *devices: int) -> None:
        """Run on devices: of each the kind, the index and the kind of its allocator."""
        kinds, indices = devices[::3], devices[1::3]
        self._running([device(kind, index) for kind, index in zip(kinds, indices)])

    def _running(self, devices: list[Device] | None = None) -> VirtualMachine:
        """The machine that runs the program; one of its own where there is none yet."""
        from .vm import VirtualMachine  # it runs these modules

        found = self.machine() if devices is None else None
        if found is None:
            found = self._own_machine = VirtualMachine(self, devices)
        return found

    def as_text(self) -> str:
        """The bytecode as a listing, and of native graphs the kernels in the order of their calls.

        A program that was exported and loaded lists the same; the generated code of one that was
        not is `inspect_source()`.
        """
        code, kernels = self.artefact.bytecode, self.artefact.kernels
        lines: list[str] = []
        for name, calls in self.artefact.profile_calls.items():
            lines += [f"@{name} native:", *(f"  call  {kernels[i].name}" for i in calls), ""]
        native = "".join(f"{line}\n" for line in lines)
        return native if code is None else native + code.as_text()

    def as_python(self) -> str:
        """The bytecode as calls of the builder that made it."""
        code = self.artefact.bytecode
        return "" if code is None else code.as_python()

    def stats(self) -> str:
        """The constants, and the functions in the order of the table."""
        code, tensors = self.artefact.bytecode, self.constants
        if code is None:
            pool = [_extents(t) for t in tensors]
            table = [f.name for f in self.artefact.functions]
        else:
            pool = [_constant_text(c, tensors) for c in code.constants]
            table = list(dict.fromkeys([*code.func_table, *(f.name for f in code.functions)]))
        return (
            "Relax VM executable statistics:\n"
            f"  Constant pool (# {len(pool)}): [{', '.join(pool)}]\n"
            f"  Globals (#{len(table)}): [{', '.join(table)}]\n"
        )


def check_devices(executor: str, devices: Sequence[Any]) -> None:
    """Refuse a number of devices that the executor of a graph does not take."""
    if devices and (executor != "aot" or len(devices) == 1):
        return
    raise TVMError(
        message("Expect exactly 1 device passed", found=str(len(devices)), legal="one device")
        if executor == "aot" else message("a state of a graph", found="no device", legal="one")
    )  # fmt: skip


def _no_machine() -> None:
    """No machine was made of a module yet."""


class VMExecutable(Executable):
    """What compiling a Relax module gives."""

    mod: VMModule

    def __init__(self, mod: Module) -> None:
        if not isinstance(mod, VMModule):
            raise TypeError(
                message("VMExecutable", found=f"a {mod.kind} module", legal="a compiled graph")
            )
        super().__init__(mod)

    @property
    def artefact(self) -> Artefact:
        """What the program says about itself."""
        return self.mod.artefact

    def as_text(self) -> str:
        """The bytecode as a listing; of native graphs the kernels in the order of their calls."""
        return self.mod.as_text()

    def as_python(self) -> str:
        """The bytecode as calls of the builder that made it."""
        return self.mod.as_python()

    def stats(self) -> str:
        """How large the program is."""
        return self.mod.stats()


def _constant_text(value: Any, tensors: tuple[Tensor, ...]) -> str:
    if isinstance(value, dict):
        return _extents(tensors[value["tensor"]]) if "tensor" in value else str(value["dtype"])
    if isinstance(value, list):
        return f"shapetuple[{', '.join(str(n) for n in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _extents(tensor: Tensor) -> str:
    shape = ", ".join(str(n) for n in tensor.shape)
    return f"[{shape}]" if shape else "scalar"

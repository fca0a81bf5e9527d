"""Run what `relay.build` made: set inputs, run, read outputs.

    runner = GraphModule(lib["default"](tvm.cpu()))
    runner.set_input("x", x)
    runner.run()
    y = runner.get_output(0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.runtime import Device
from tvm.runtime.benchmark import BenchmarkResult, Timing, evaluator
from tvm.runtime.graph_machine import GraphMachine
from tvm.runtime.graph_runtime import set_input_of
from tvm.runtime.module import Module
from tvm.runtime.params import load_param_dict


def create(graph_json_str: str, libmod: Any, device: Any) -> GraphModule:
    """A runner of a graph with its library.

    They are what unpacking the result of `relay.build` gives, or a graph of one's own over the
    functions of any library.
    """
    if not isinstance(graph_json_str, str):
        raise ValueError(f"Type {type(graph_json_str)} is not supported; legal: the JSON text")
    first = first_device(device)
    named = hasattr(libmod, "libmod_name")
    if not named and not isinstance(libmod, Module):
        raise TypeError(f"graph_executor.create: a {type(libmod).__name__}; legal: a library")
    try:
        make = libmod[libmod.libmod_name if named else "default"]
    except AttributeError:
        if named or libmod.kind == "rpc":
            raise
        return GraphModule(GraphMachine(graph_json_str, libmod, first).state())
    return GraphModule(make(first))


def first_device(device: Device | Sequence[Device]) -> Device:
    """The device of a runner, of which older scripts give a list."""
    if isinstance(device, (list, tuple)) and device:
        device = device[0]
    if not isinstance(device, Device):
        raise ValueError(
            f"dev has to be the type of Device or a list of Device; found: {device!r:.80}"
        )
    return device


class GraphModule:
    """One state of a built module."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self._run = module["run"]
        self._get_output = module["get_output"]
        self._get_input = module["get_input"]
        self._get_num_outputs = module["get_num_outputs"]
        self._get_num_inputs = module["get_num_inputs"]
        self._load_params = module["load_params"]

    def set_input(self, key: int | str | None = None, value: Any = None, **params: Any) -> None:
        """Set one input by name or index, and others by name; names of none are passed over."""
        if key is not None:
            set_input_of(self.module, key, value)
        for name, given in params.items():
            if self.get_input_index(name) >= 0:
                set_input_of(self.module, name, given)

    def set_input_zero_copy(
        self, key: int | str | None = None, value: Any = None, **params: Any
    ) -> None:
        """As `set_input`; a tensor of the device is taken as it is."""
        if key is not None:
            self.module["set_input_zero_copy"](key, value)
        for name, given in params.items():
            self.module["set_input_zero_copy"](name, given)

    def set_output_zero_copy(self, key: int | str, value: Any) -> None:
        """Let an output be written into a tensor of its shape and dtype by each run."""
        self.module["set_output_zero_copy"](key, value)

    def run(self, **input_dict: Any) -> None:
        """Set the given inputs and run."""
        self.set_input(**input_dict)
        self._run()

    def get_num_outputs(self) -> int:
        """How many outputs there are."""
        return int(self._get_num_outputs())

    def get_num_inputs(self) -> int:
        """How many inputs there are."""
        return int(self._get_num_inputs())

    def get_input(self, index: int | str, out: Any = None) -> Any:
        """An input as it was set, copied into `out` if it is given."""
        found = self._get_input(index)
        if out is None:
            return found
        found.copyto(out)
        return out

    def get_input_index(self, name: str) -> int:
        """The index of an input, or -1."""
        return int(self.module["get_input_index"](name))

    def get_input_info(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Shapes and data types of the inputs by name."""
        info = self.module["get_input_info"]()
        return info["shape"], info["dtype"]

    def get_output(self, index: int, out: Any = None) -> Any:
        """An output of the last run, copied into `out` if it is given."""
        return self._get_output(index, out)

    def debug_get_output(self, node: int | str, out: Any) -> Any:
        """Values between the kernels; `debugger.debug_executor` keeps them."""
        raise NotImplementedError(
            "debug_get_output: this executor keeps no values between kernels; "
            "legal: tvm.contrib.debugger.debug_executor.create(graph, lib, device)"
        )

    def load_params(self, params_bytes: bytes | bytearray) -> None:
        """Set inputs from saved parameters."""
        self._load_params(bytes(params_bytes))

    def share_params(self, other: GraphModule, params_bytes: bytes | bytearray) -> None:
        """Use the memory of another runner for the parameters that are named in saved ones."""
        names = list(load_param_dict(bytes(params_bytes)))
        self.module["share_params"](other.module, names)

    def benchmark(
        self,
        device: Device,
        func_name: str = "run",
        repeat: int = 5,
        number: int = 5,
        min_repeat_ms: int | None = None,
        limit_zero_time_iterations: int = 100,
        end_to_end: bool = False,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        **kwargs: Any,
    ) -> BenchmarkResult:
        """How long a run takes; `kwargs` are inputs by name.

        With `end_to_end` each run sets them, and copies the outputs to the host.
        """
        timing = Timing(
            number, repeat, min_repeat_ms or 0, limit_zero_time_iterations, cooldown_interval_ms,
            repeats_to_cooldown,
        )  # fmt: skip
        if end_to_end:
            return evaluator(lambda: self._whole_run(kwargs), device, timing)()
        self.set_input(**kwargs)
        return evaluator(self.module[func_name], device, timing)()

    def _whole_run(self, inputs: dict[str, Any]) -> None:
        self.run(**inputs)
        for index in range(self.get_num_outputs()):
            self.get_output(index).numpy()

    def __getitem__(self, key: str) -> Any:
        return self.module[key]

"""Run a built graph kernel by kernel: values between kernels, and the time of each.

lib = relay.build(mod, "llvm")
runner = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu(), dump_root="dump")
runner.run(x=x)
between = runner.debug_get_output("tvmgen_default_fused_add")
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tvm.contrib.graph_executor import GraphModule, first_device
from tvm.runtime.benchmark import BenchmarkResult, Timing
from tvm.runtime.profiling import Count, Duration, Percent, Report

from .debug_result import DebugResult

_ROOT: Final = "tvmdbg_"
_FOLDER: Final = "_tvmdbg_device_"


def create(
    graph_json_str: str, libmod: Any, device: Any, dump_root: str | None = None
) -> GraphModuleDebug:
    """A runner of a graph with its library; `dump_root` is a folder for what runs leave."""
    if not isinstance(graph_json_str, str):
        raise ValueError(f"Type {type(graph_json_str)} is not supported; legal: the JSON text")
    name = getattr(libmod, "libmod_name", "default")
    device = first_device(device)
    return GraphModuleDebug(libmod["debug_create"](name, device), device, graph_json_str, dump_root)


class GraphModuleDebug(GraphModule):
    """One state of a built graph, whose nodes can be looked at."""

    def __init__(
        self, module: Any, device: Any, graph_json_str: str, dump_root: str | None = None
    ) -> None:
        super().__init__(module)
        self._device = device
        self._own = dump_root is None
        self._dump_root = tempfile.mkdtemp(prefix=_ROOT) if dump_root is None else str(dump_root)
        place = str(device).upper().replace("(", "_").replace(":", "_").rstrip(")")
        self._dump_path = str(Path(self._dump_root) / f"{_FOLDER}{place}")
        self.debug_datum = DebugResult(graph_json_str, self._dump_path)

    def run(self, **input_dict: Any) -> None:
        """Set the given inputs, run, write values and times, and print a table of the times."""
        self.set_input(**input_dict)
        self._run()
        self.debug_datum.times = self.run_individual(1, 1)
        values = [v for n in self.module.nodes for v in self.module["get_node_output"](n["name"])]
        self.debug_datum.update_output_tensors(values)
        self.debug_datum.dump_output_tensor()
        self.debug_datum.dump_chrome_trace()
        self.debug_datum.display_debug_result()

    def debug_get_output(self, node: int | str, out: Any = None) -> Any:
        """The value of a node in the last run, by number or name."""
        return self.module["debug_get_output"](node, out)

    def execute_node(self, node_name: str) -> Any:
        """Run one node again."""
        return self.module["execute_node"](node_name)

    def get_node_output(self, node_name: str) -> Any:
        """The first value of a node in the last run."""
        return self.module["debug_get_output"](node_name)

    def run_individual(
        self,
        number: int,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
    ) -> list[Sequence[float]]:
        """Seconds of each node, `repeat` times each; 0 for inputs."""
        timing = Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms,
            repeats_to_cooldown, cache_flush_bytes,
        )  # fmt: skip
        found = [self.module.time_node(at, timing) for at in range(len(self.module.nodes))]
        return [[0.0] * repeat if result is None else result.results for result in found]

    def run_individual_node(
        self,
        index: int,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
    ) -> BenchmarkResult:
        """How long one node takes."""
        timing = Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms,
            repeats_to_cooldown, cache_flush_bytes,
        )  # fmt: skip
        found = self.module.time_node(index, timing)
        return BenchmarkResult([0.0] * repeat) if found is None else found

    def profile(self, collectors: Any = None, **input_dict: Any) -> Report:
        """A report of one run, node by node."""
        self.set_input(**input_dict)
        self._run()  # once to warm up: kernels are compiled
        begin = time.perf_counter()
        self._run()
        total = (time.perf_counter() - begin) * 1e6
        seconds = [times[0] for times in self.run_individual(1, 1)]
        name = str(self._device)
        calls = [
            {
                "Name": str(node["name"]),
                "Duration (us)": Duration(spent * 1e6),
                "Percent": Percent(100 * spent * 1e6 / total if total else 0.0),
                "Device": name,
                "Count": Count(1),
                **self.module.about_node(index),
            }
            for index, (node, spent) in enumerate(zip(self.module.nodes, seconds))
            if node["op"] != "null"
        ]
        return Report(calls, {name: {"Duration (us)": Duration(total)}}, {"Executor": "Graph"})

    def exit(self) -> None:
        """Remove what runs left, with the folder if it was made for them."""
        shutil.rmtree(self._dump_root if self._own else self._dump_path, ignore_errors=True)

"""Run modules as stages of a pipeline: while one works on an input, the next works on the last.

    pipeline = PipelineModule(pipeline_executor_build.build(config))
    pipeline.set_input("a", x)
    pipeline.run()
    outputs = pipeline.get_output()

Each stage is a thread with a queue for every input that is connected; `run` puts what was set into
the queues and returns, results come out in the order of the runs.
"""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import numpy as np

from tvm.error import TVMError, message
from tvm.runtime import Device, load_module
from tvm.runtime import tensor as to_tensor

from .graph_executor import GraphModule
from .pipeline_executor_build import PipelineExecutorFactoryModule

_END: Final = object()  # in a queue: the stage is to stop
_RUN: Final = "\0run"  # the queue of a stage that says how often it runs


def pipeline_executor_enabled() -> bool:
    """True: pipelines are part of this package."""
    return True


class _Results:
    """The outputs of the pipeline, by number, in the order of the runs; or the error of one."""

    def __init__(self, count: int) -> None:
        self.waiting: list[list[Any]] = [[] for _ in range(count)]
        self.error: Exception | None = None
        self.lock = threading.Lock()

    def put(self, number: int, value: Any) -> None:
        with self.lock:
            self.waiting[number].append(value)

    def fail(self, error: Exception) -> None:
        with self.lock:
            self.error = self.error or error

    def take(self) -> list[Any]:
        """The outputs of one run; nothing while some are missing."""
        with self.lock:
            if self.error is not None:
                raise self.error
            if not self.waiting or not all(self.waiting):
                return []
            return [values.pop(0) for values in self.waiting]


class _Stage:
    """One module with its queues."""

    def __init__(self, module: GraphModule, told: Mapping[str, Any]) -> None:
        self.module = module
        self.index = int(told["mod_idx"])
        self.outputs = told["output"]
        self.cpus = {int(cpu) for cpu in str(told.get("cpu_affinity") or "").split(",") if cpu}
        self.queues: dict[str, SimpleQueue[Any]] = {_RUN: SimpleQueue()}
        self.thread: threading.Thread | None = None

    def work(self, stages: Mapping[int, _Stage], results: _Results) -> None:
        """Run as often as there is something in all queues."""
        try:
            self._stay_on_cpus()
            while True:
                given = {name: queue.get() for name, queue in self.queues.items()}
                if given.pop(_RUN) is _END:
                    return
                self.module.run(**given)
                for out in self.outputs:
                    value = _copy(self.module.get_output(out["output_idx"]))
                    for to in out["dependencies"]:
                        if "global_output_index" in to:
                            results.put(to["global_output_index"], value)
                        else:
                            stages[to["mod_idx"]].queues[to["input_name"]].put(value)
        except Exception as error:
            results.fail(error)

    def _stay_on_cpus(self) -> None:
        if self.cpus and hasattr(os, "sched_setaffinity"):
            allowed = self.cpus & os.sched_getaffinity(0)
            if allowed:
                os.sched_setaffinity(0, allowed)


def _copy(value: Any) -> Any:
    """A tensor of its own: the next run writes over the module's."""
    return to_tensor(np.array(value.numpy()))


def _stop(stages: list[_Stage]) -> None:
    for stage in stages:
        for queue in stage.queues.values():
            queue.put(_END)


class PipelineModule:
    """A pipeline that runs, from what was built or loaded."""

    def __init__(self, module: PipelineExecutorFactoryModule) -> None:
        if not isinstance(module, PipelineExecutorFactoryModule):
            raise RuntimeError(
                f"PipelineModule of a {type(module).__name__}; legal: what "
                "pipeline_executor_build.build gives; load_library reads files"
            )
        config = module.mods_config
        told = {int(one["mod_idx"]): one for one in config["module_connection"]}
        self._stages = {
            index: _Stage(GraphModule(made["lib"]["default"](made["dev"])), told[index])
            for index, made in module.pipeline_mods.items()
        }
        self._inputs = {
            str(one["global_interface_name"]): (
                int(one["mod_idx"]), str(one["module_interface_name"]))
            for one in config["input_connection"]
        }  # fmt: skip
        self._groups = {
            str(one["global_param_name"]): int(one["mod_idx"]) for one in config["param_connection"]
        }
        ends = [
            to for one in told.values() for out in one["output"] for to in out["dependencies"]
        ]
        numbers = [to["global_output_index"] for to in ends if "global_output_index" in to]
        self._results = _Results(len(numbers))
        if sorted(numbers) != list(range(len(numbers))):
            raise RuntimeError(f"outputs of the pipeline: {sorted(numbers)}; legal: 0, 1, ...")
        fed = [(to["mod_idx"], to["input_name"]) for to in ends if "mod_idx" in to]
        for index, name in [*fed, *self._inputs.values()]:
            self._stages[index].queues[name] = SimpleQueue()
        self._given: dict[str, Any] = {}
        self._runs = 0
        self._taken = 0
        self._close: Any = None

    @staticmethod
    def load_library(config_file_name: str) -> PipelineModule:
        """The pipeline that `export_library` wrote; its result names the file."""
        config = Path(config_file_name)
        folder = config.parent
        files = json.loads(config.read_text(encoding="utf-8"))
        listed = json.loads((folder / files["load_config"]).read_text(encoding="utf-8"))
        told = json.loads((folder / files["pipeline_config"]).read_text(encoding="utf-8"))
        mods = {}
        for one in listed:
            kind, number = (int(part) for part in one["dev"].split(","))
            lib = load_module(str(folder / one["lib_name"]))
            mods[int(one["mod_idx"])] = {"lib": lib, "dev": Device(kind, number)}
        return PipelineModule(PipelineExecutorFactoryModule(mods, told))

    # --- inputs ---

    def _place(self, key: str) -> tuple[_Stage, str]:
        if key not in self._inputs:
            raise TVMError(
                message(
                    "pipeline: no such input", found=key,
                    legal=", ".join(self._inputs) or "none: no input is connected",
                )
            )
        index, name = self._inputs[key]
        return self._stages[index], name

    def set_input(self, key: str, value: Any) -> None:
        """Set an input of the pipeline for the runs that follow."""
        stage, name = self._place(key)
        if self._runs == 0:
            stage.module.set_input(name, value)
        self._given[key] = _copy(value if hasattr(value, "numpy") else to_tensor(value))

    def get_input(self, key: str) -> Any:
        """An input of the pipeline as it was set last."""
        stage, name = self._place(key)
        return self._given[key] if key in self._given else stage.module.get_input(name)

    def get_input_pipeline_map(self, name: str) -> list[str]:
        """The number of the module that an input goes to, and the name that it has there."""
        stage, inner = self._place(name)
        return [str(stage.index), inner]

    def get_params_group_pipeline_map(self, name: str) -> int:
        """The number of the module that a group of parameters belongs to."""
        if name not in self._groups:
            raise TVMError(
                message(
                    "pipeline: no such group of parameters", found=name,
                    legal=", ".join(self._groups) or "none: no group is connected",
                )
            )
        return self._groups[name]

    def set_params(self, params_group_name: str, params_data: Mapping[str, Any]) -> None:
        """Set the parameters of a module, before the first run."""
        index = self.get_params_group_pipeline_map(params_group_name)
        if params_data is None:
            raise TVMError(
                message("set_params", found="None", legal="a dictionary of tensors by name")
            )
        if self._runs:
            raise TVMError(message("set_params", found="a pipeline that runs", legal="before"))
        self._stages[index].module.set_input(**params_data)

    # --- runs ---

    def run(self) -> None:
        """Begin one run with the inputs as they are set; it goes on by itself."""
        missing = [key for key in self._inputs if key not in self._given]
        if missing:
            raise TVMError(
                message("pipeline: run", found=f"inputs that are not set: {', '.join(missing)}",
                        legal="set_input for each")
            )  # fmt: skip
        if self._close is None:
            self._start()
        self._runs += 1
        for key, value in self._given.items():
            stage, name = self._place(key)
            stage.queues[name].put(value)
        for stage in self._stages.values():
            stage.queues[_RUN].put(None)

    def _start(self) -> None:
        for stage in self._stages.values():
            stage.thread = threading.Thread(
                target=stage.work, args=(self._stages, self._results), daemon=True,
                name=f"tvm-pipeline-{stage.index}",
            )  # fmt: skip
            stage.thread.start()
        self._close = weakref.finalize(self, _stop, list(self._stages.values()))

    def stop(self) -> None:
        """End the threads of the stages; what did not run yet is lost."""
        if self._close is not None:
            self._close()
            for stage in self._stages.values():
                assert stage.thread is not None, "they were started"
                stage.thread.join()

    def get_output(self, synchronize: bool = True, sleep_interval: float = 0.001) -> list[Any]:
        """The outputs of the earliest run that were not taken yet.

        With `synchronize` it waits for them, as long as a run is on its way, and looks each
        `sleep_interval` seconds; without it the list is empty while they are not there.
        """
        found = self._results.take()
        while synchronize and not found and self._taken < self._runs and self.num_outputs:
            time.sleep(sleep_interval)
            found = self._results.take()
        self._taken += bool(found)
        return found

    @property
    def num_executing_pipeline(self) -> int:
        """How many runs were begun."""
        return self._runs

    @property
    def num_outputs(self) -> int:
        """How many outputs the pipeline has."""
        return len(self._results.waiting)

    @property
    def num_inputs(self) -> int:
        """How many inputs the pipeline has."""
        return len(self._inputs)

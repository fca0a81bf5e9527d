"""A built module: its functions by the names that graph executors call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.module import IRModule
from tvm.relax.vm import VirtualMachine
from tvm.relay.expr import Call, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.traverse import children, post_order
from tvm.runtime._tensor import Tensor

from .interpreter import as_tensor


class GraphRuntime:
    """One run-time state of a built module: its inputs and its last outputs."""

    def __init__(self, factory: GraphExecutorFactoryModule, device: Any) -> None:
        self.factory = factory
        self.device = device
        self.machine = VirtualMachine(factory.executable, device)
        self.params = list(factory.function.params)
        self.inputs: list[Any] = [None] * len(self.params)
        self.outputs: list[Any] = []
        self._functions: dict[str, Callable[..., Any]] = {
            "set_input": self.set_input,
            "set_input_zero_copy": self.set_input,
            "get_input": self.get_input,
            "get_input_index": self.get_input_index,
            "get_input_info": self.get_input_info,
            "get_num_inputs": lambda: len(self.params),
            "run": self.run,
            "get_output": self.get_output,
            "get_num_outputs": self.get_num_outputs,
            "load_params": self.load_params,
        }

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self._functions:
            raise AttributeError(f"no function {name!r}; legal: {', '.join(self._functions)}")
        return self._functions[name]

    def get_function(self, name: str) -> Callable[..., Any]:
        """The function called `name`."""
        return self[name]

    def index(self, key: int | str) -> int:
        """The place of an input given by place or name; -1 for a name that is none."""
        if isinstance(key, int):
            return key
        names = [param.name_hint for param in self.params]
        return names.index(key) if key in names else -1

    def set_input(self, key: int | str, value: Any) -> None:
        """Set an input; names that are parameters bound at the build are passed over."""
        at = self.index(key)
        if not 0 <= at < len(self.params):
            if isinstance(key, str) and key in self.factory.params:
                return
            names = [param.name_hint for param in self.params]
            raise TVMError(
                message(f"set_input: no input {key!r}", legal=", ".join(names) or "none")
            )
        made = as_tensor(value, self.device)
        self._check(at, made)
        self.inputs[at] = made

    def _check(self, at: int, value: Any) -> None:
        wanted = self.params[at].checked_type
        shape = [getattr(extent, "value", None) for extent in wanted.shape]  # type: ignore[attr-defined]
        fits = len(shape) == len(value.shape) and all(
            want is None or int(want) == int(have) for want, have in zip(shape, value.shape)
        )
        if not fits or str(value.dtype) != str(wanted.dtype):  # type: ignore[attr-defined]
            raise TVMError(
                message(
                    f"set_input: the value does not fit {self.params[at].name_hint!r}",
                    found=f"{tuple(value.shape)}, {value.dtype}",
                    legal=str(wanted),
                )
            )

    def get_input(self, key: int | str) -> Any:
        """An input as it was set."""
        at = self.index(key)
        return self.inputs[at] if 0 <= at < len(self.inputs) else None

    def get_input_index(self, name: str) -> int:
        """The place of an input, or -1."""
        return self.index(name)

    def get_input_info(self) -> dict[str, dict[str, Any]]:
        """Shapes and data types of the inputs by name."""
        types: list[Any] = [param.checked_type for param in self.params]
        names = [param.name_hint for param in self.params]
        shapes = {n: tuple(int(d.value) for d in t.shape) for n, t in zip(names, types)}
        return {"shape": shapes, "dtype": {n: str(t.dtype) for n, t in zip(names, types)}}

    def run(self) -> None:
        """Run the module on the inputs."""
        missing = [p.name_hint for p, v in zip(self.params, self.inputs) if v is None]
        if missing:
            raise TVMError(f"run: the inputs {missing} are not set; call set_input for each")
        self.outputs = flat_outputs(self.machine["main"](*self.inputs))

    def get_output(self, index: int, out: Any = None) -> Any:
        """An output of the last run; copied into `out` if it is given."""
        if not self.outputs:
            raise TVMError("get_output: nothing was run yet; call run() first")
        found = self.outputs[index]
        if out is not None:
            out.copyfrom(found)
            return out
        return found

    def get_num_outputs(self) -> int:
        """How many tensors a run gives."""
        return count_outputs(self.factory.function.ret_type)

    def load_params(self, params_bytes: bytes) -> None:
        """Set inputs from saved parameters."""
        from tvm.runtime import load_param_dict

        for name, value in load_param_dict(params_bytes).items():
            self.set_input(name, value)


def flat_outputs(value: Any) -> list[Any]:
    """The tensors of a nested result, in order."""
    if isinstance(value, Tensor) or hasattr(value, "numpy"):
        return [value]
    return [found for field in value for found in flat_outputs(field)]


def count_outputs(found: Any) -> int:
    """How many tensors a type holds."""
    fields = getattr(found, "fields", None)
    return 1 if fields is None else sum(count_outputs(field) for field in fields)


class GraphExecutorFactoryModule:
    """What `relay.build` gives: call `["default"](device)` for a state to run."""

    def __init__(
        self,
        ir_mod: IRModule,
        target: Any,
        executor: Any,
        graph_json_str: str,
        libmod: Any,
        libmod_name: str,
        params: Mapping[str, Any],
        function_metadata: Mapping[str, Any],
    ) -> None:
        self.ir_mod = ir_mod
        self.target = target
        self.executor = executor
        self.graph_json_str = graph_json_str
        self.lib = self
        self.executable = libmod
        self.libmod_name = libmod_name
        self.params = dict(params)
        self.function_metadata = dict(function_metadata)
        self.iter_cnt = 0

    @property
    def function(self) -> Function:
        """The function that is run, with types."""
        main = self.ir_mod["main"]
        assert isinstance(main, Function), "main is a function of Relay"
        return main

    @property
    def module(self) -> GraphExecutorFactoryModule:
        """The module itself, for scripts that look it up."""
        return self

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name == self.libmod_name:
            return lambda *devices: GraphRuntime(self, devices[0])
        if name == "get_graph_json":
            return self.get_graph_json
        raise AttributeError(f"no function {name!r}; legal: {self.libmod_name!r}, 'get_graph_json'")

    def __iter__(self) -> Iterator[Any]:
        """Older scripts unpack graph, library and parameters."""
        return iter((self.graph_json_str, self, self.params))

    def export_library(
        self, file_name: str, fcompile: Any = None, addons: Any = None, **kwargs: Any
    ) -> Any:
        """Write the executable as a library; `relax.VirtualMachine` runs what is loaded."""
        return self.executable.export_library(file_name, **kwargs)

    def get_devices(self) -> list[str]:
        """Devices that the module names of its own: none."""
        return []

    def get_params(self) -> dict[str, Any]:
        """The parameters that were bound at the build."""
        return self.params

    def get_graph_json(self) -> str:
        """The graph as JSON: nodes, inputs and outputs."""
        return self.graph_json_str

    def get_executor_config(self) -> str:
        """What the executor is told: the graph."""
        return self.graph_json_str

    def get_lib(self) -> Any:
        """The compiled library."""
        return self


def graph_json(func: Function) -> str:
    """The graph of a function as graph executors write it."""
    nodes: list[dict[str, Any]] = []
    where: dict[int, list[list[int]]] = {}
    for expr in post_order(func):
        parts = [entry for part in children(expr) for entry in where.get(id(part), [])]
        if isinstance(expr, Var):
            known = [at for at, node in enumerate(nodes) if node["name"] == expr.name_hint]
            if not known:
                nodes.append({"op": "null", "name": expr.name_hint, "inputs": []})
            where[id(expr)] = [[known[0] if known else len(nodes) - 1, 0, 0]]
        elif isinstance(expr, TupleGetItem):
            source = where.get(id(expr.tuple_value), [])
            where[id(expr)] = [source[expr.index]] if expr.index < len(source) else source[:1]
        elif isinstance(expr, Call):
            name = getattr(expr.op, "name", None) or getattr(expr.op, "name_hint", "function")
            attrs = {"func_name": f"{name}", "num_inputs": str(len(parts))}
            nodes.append({"op": "tvm_op", "name": name, "attrs": attrs, "inputs": parts})
            count = count_outputs(expr.checked_type_)
            where[id(expr)] = [[len(nodes) - 1, at, 0] for at in range(count)]
        elif isinstance(expr, Tuple):
            where[id(expr)] = parts
    graph = {
        "nodes": nodes,
        "arg_nodes": [at for at, node in enumerate(nodes) if node["op"] == "null"],
        "heads": where.get(id(func.body), []),
        "node_row_ptr": list(range(len(nodes) + 1)),
    }
    return json.dumps(graph, indent=2)



"""A graph, written as JSON, over the functions of a library.

    {"nodes": [{"op": "null", "name": "x", "inputs": []},
               {"op": "tvm_op", "name": "add", "inputs": [[0, 0, 0]],
                "attrs": {"func_name": "myadd", "num_inputs": "1", "num_outputs": "1",
                          "flatten_data": "0"}}],
     "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "heads": [[1, 0, 0]],
     "attrs": {"shape": ["list_shape", [[4], [4]]], "dltype": ["list_str", ["float32", "float32"]],
               "storage_id": ["list_int", [0, 1]]}}

Each node calls its function with its inputs and tensors for its results, which are new in each run.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

from tvm.error import InternalError, message
from tvm.support.json_text import from_json

from ._tensor import Tensor, empty
from .artefact import ValueInfo
from .graph_runtime import GraphRuntime
from .module import Module

_PARTS: Final = ("nodes", "arg_nodes", "heads", "attrs", "node_row_ptr")


class GraphMachine:
    """Runs the nodes of a graph one after the other."""

    def __init__(self, graph_json: str, library: Module, device: Any) -> None:
        graph = from_json(graph_json)
        missing = [part for part in _PARTS if part not in graph]
        if missing:
            raise InternalError(
                message("a graph in an invalid format", found=f"no {', '.join(missing)}",
                        legal=", ".join(_PARTS))
            )  # fmt: skip
        self._graph = graph
        self._device = device
        self._shapes = [tuple(map(int, shape)) for shape in graph["attrs"]["shape"][1]]
        self._dtypes = [str(dtype) for dtype in graph["attrs"]["dltype"][1]]
        self._functions = {
            at: self._function(node, library)
            for at, node in enumerate(graph["nodes"]) if node["op"] != "null"
        }  # fmt: skip

    def state(self) -> GraphRuntime:
        """What sets inputs, runs and reads outputs."""
        nodes, rows = self._graph["nodes"], self._graph["node_row_ptr"]
        params = [
            ValueInfo(str(nodes[at]["name"]), self._shapes[rows[at]], self._dtypes[rows[at]])
            for at in self._graph["arg_nodes"]
        ]
        return GraphRuntime(self.run, params, len(self._graph["heads"]), self._device)

    def _function(self, node: dict[str, Any], library: Module) -> Callable[..., Any] | None:
        """What a node calls; None where it only shows its input in another shape."""
        name = str(node["attrs"]["func_name"])
        return None if name == "__nop" else library.get_function(name, True)

    def run(self, *inputs: Any) -> list[Any]:
        """The outputs for the inputs."""
        rows = self._graph["node_row_ptr"]
        values: dict[int, Any] = {
            rows[at]: value for at, value in zip(self._graph["arg_nodes"], inputs, strict=True)
        }
        for at, func in self._functions.items():
            node = self._graph["nodes"][at]
            given = [values[rows[source] + index] for source, index, *_ in node["inputs"]]
            results = range(rows[at], rows[at] + int(node["attrs"]["num_outputs"]))
            if func is None:
                values[rows[at]] = given[0]._create_view(self._shapes[rows[at]])
                continue
            for row in results:
                values[row] = empty(self._shapes[row], self._dtypes[row], self._device)
            passed = [*given, *(values[row] for row in results)]
            if int(node["attrs"].get("flatten_data", 0)):
                passed = [_flat(value) for value in passed]
            func(*passed)
        return [values[rows[at] + index] for at, index, *_ in self._graph["heads"]]


def _flat(value: Tensor) -> Tensor:
    """The elements of a tensor along one axis, in the same memory."""
    return value._create_view((prod(value.shape),))

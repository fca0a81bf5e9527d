"""Graphs written as JSON over the functions of a library."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.contrib import graph_executor

pytestmark = pytest.mark.cpu
X = np.arange(6, dtype="float32").reshape(2, 3)


def library() -> Any:
    x = te.placeholder((6,), name="x")
    y = te.compute((6,), lambda i: x[i] + 1.0, name="y")
    func = te.create_prim_func([x, y]).with_attr("global_symbol", "add_one")
    return tvm.tir.build(tvm.IRModule({"add_one": func}), "llvm")


def node(name: str, func_name: str, source: int, flat: int = 1) -> dict[str, Any]:
    attrs = {"func_name": func_name, "num_inputs": "1", "num_outputs": "1",
             "flatten_data": str(flat)}  # fmt: skip
    return {"op": "tvm_op", "name": name, "attrs": attrs, "inputs": [[source, 0, 0]]}


def graph(*nodes: dict[str, Any], shapes: list[list[int]]) -> str:
    count = 1 + len(nodes)
    return json.dumps({
        "nodes": [{"op": "null", "name": "x", "inputs": []}, *nodes],
        "arg_nodes": [0], "node_row_ptr": list(range(count + 1)), "heads": [[count - 1, 0, 0]],
        "attrs": {"shape": ["list_shape", shapes], "dltype": ["list_str", ["float32"] * count],
                  "storage_id": ["list_int", list(range(count))]},
    })  # fmt: skip


def test_nodes_call_the_functions_of_the_library() -> None:
    text = graph(node("a", "add_one", 0), node("b", "add_one", 1), shapes=[[2, 3]] * 3)
    runner = graph_executor.create(text, library(), tvm.cpu())
    runner.run(x=X)
    np.testing.assert_array_equal(runner.get_output(0).numpy(), X + 2)
    runner.load_params(tvm.runtime.save_param_dict({"x": X + 1}))
    runner.run()
    np.testing.assert_array_equal(runner.get_output(0).numpy(), X + 3)
    assert (runner.get_num_inputs(), runner.get_num_outputs()) == (1, 1)


def test_other_extents_need_no_function() -> None:
    text = graph(node("a", "add_one", 0), node("b", "__nop", 1, 0), shapes=[[6], [6], [3, 2]])
    runner = graph_executor.create(text, library(), tvm.cpu())
    runner.run(x=X.reshape(6))
    np.testing.assert_array_equal(runner.get_output(0).numpy(), X.reshape(3, 2) + 1)


def test_what_is_no_graph_and_no_library_is_refused() -> None:
    with pytest.raises(tvm.error.InternalError, match="invalid format"):
        graph_executor.create("{}", library(), tvm.cpu())
    with pytest.raises(TypeError, match="a NoneType; legal: a library"):
        graph_executor.create("{}", None, tvm.cpu())
    with pytest.raises(AttributeError):
        graph_executor.create(graph(node("a", "nope", 0), shapes=[[6]] * 2), library(), tvm.cpu())

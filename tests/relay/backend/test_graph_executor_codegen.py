"""A graph with its kernels as TensorIR: names, sharing, constants."""

from __future__ import annotations

import json

import numpy as np

import tvm
from tvm import relay
from tvm.relay.backend.graph_executor_codegen import GraphExecutorCodegen
from tvm.tir.function import PrimFunc

TARGET = tvm.target.Target("llvm", host="llvm")


def test_kernels_have_the_names_that_the_graph_calls() -> None:
    x = relay.var("x", shape=(4, 8))
    weight = relay.const(np.ones((8, 8), "float32"))
    layer = relay.nn.relu(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, weight)), weight))
    mod = tvm.IRModule.from_expr(relay.Function([x], layer))
    mod, _ = relay.optimize(mod, TARGET)
    text, lowered, params = GraphExecutorCodegen(None, TARGET).codegen(mod, mod["main"])
    graph = json.loads(text)
    kernels = [node["attrs"]["func_name"] for node in graph["nodes"] if node["op"] == "tvm_op"]
    assert kernels == ["tvmgen_default_fused_nn_dense_nn_relu"] * 2, "equal kernels are one"
    ((target, made),) = lowered.items()
    assert target.kind.name == "llvm"
    assert {var.name_hint for var in made.functions} == set(kernels)
    assert all(isinstance(func, PrimFunc) for func in made.functions.values())
    assert list(params) == ["p0"]
    assert [n["name"] for n in graph["nodes"] if n["op"] == "null"] == ["x", "p0"]
    np.testing.assert_array_equal(params["p0"].numpy(), np.ones((8, 8), "float32"))


def test_kernels_compile_and_run() -> None:
    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.add(x, relay.const(1.0)))))
    _, lowered, _ = GraphExecutorCodegen(mod, TARGET).codegen(mod, mod["main"])
    ((target, made),) = lowered.items()
    (name,) = [var.name_hint for var in made.functions]
    data, out = tvm.runtime.tensor(np.zeros(3, "float32")), tvm.runtime.empty((3,), "float32")
    built = tvm.tir.build(made, target)
    built[name](data, out)
    np.testing.assert_allclose(out.numpy(), np.exp(np.ones(3, "float32")), 1e-5)


def test_equal_kernels_share_a_name_and_have_labels() -> None:
    x = relay.var("x", shape=(4,))
    body = relay.exp(relay.nn.softmax(relay.nn.softmax(relay.nn.softmax(x))))
    mod = tvm.IRModule.from_expr(relay.Function([x], body))
    nodes = json.loads(relay.build(mod, "llvm").get_graph_json())["nodes"][1:]
    softmax = "tvmgen_default_fused_nn_softmax"
    assert [node["name"] for node in nodes] == [softmax, f"{softmax}_1", f"{softmax}_exp"]
    assert [node["attrs"]["func_name"] for node in nodes] == [softmax, softmax, f"{softmax}_exp"]
    labels = [node["attrs"]["hash"] for node in nodes]
    assert labels[0] == labels[1] != labels[2]
    assert all(len(label) == 16 for label in labels)

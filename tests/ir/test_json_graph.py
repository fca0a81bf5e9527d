"""Graphs of the original's version 0.22 are read back whole; damaged ones are refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

import tvm
from tests.ir.json_forms import NewForm, tensor_text
from tvm import relax, tir
from tvm.ir import load_json
from tvm.ir.json_graph import JSONError
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Tensors:
    I.module_attrs({"version": 3, "names": ["a", "b"]})

    @T.prim_func
    def main(a: T.handle, B: T.Buffer((8,), "float16"), n: T.int64) -> None:
        T.func_attr({"tir.noalias": True, "target": T.target({"kind": "llvm", "num-cores": 4})})
        m = T.int32()
        A = T.match_buffer(a, (m, 8), "float32", strides=(8, 1), offset_factor=4)
        C = T.alloc_buffer((8,), "float32")
        for i in T.thread_binding(m, thread="threadIdx.x", annotations={"pragma": 1.5}):
            for j in T.vectorized(8):
                with T.block("sum"):
                    vi = T.axis.reduce(m, i)
                    vj = T.axis.spatial(8, j)
                    T.where(i * 8 + j < 60)
                    with T.init():
                        C[vj] = T.float32(0)
                    C[vj] = C[vj] + T.if_then_else(vi < 3, T.exp(A[vi, vj]), A[vi, 0])
        for j in range(8):
            with T.block("cast"):
                vj = T.axis.remap("S", [j])
                B[vj] = T.Cast("float16", T.Select(n > T.int64(2), C[vj], T.max(C[vj], 1.0)))

    @T.prim_func
    def lowered(A: T.Buffer((16,), "float32")) -> None:
        data = T.allocate_const([1.0, 2.0], "float32", [2])
        table = T.Buffer((2,), "float32", data=data)
        with T.LetStmt(T.int32(3)) as k:
            A[T.Ramp(0, 1, 4)] = T.Broadcast(table[1], 4)
            if k > 2:
                T.evaluate(T.call_extern("int32", "f", A.data, "text"))


@I.ir_module
class Graph:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            y: R.Tensor((n, 4), "float32") = R.nn.softmax(x, axis=1)
            z: R.Tensor((n, 4), "float32") = R.add(y, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            R.output(z)
        return z


@pytest.mark.parametrize("mod", [Tensors, Graph, Tensors["main"]])
def test_programs(mod: Any) -> None:
    text = json.dumps(NewForm().graph(mod))
    loaded = load_json(text)
    tvm.ir.assert_structural_equal(loaded, mod)
    assert loaded.script() == mod.script()


def test_values() -> None:
    x = tir.Var("x", "int32")
    values = {"a": (x, x + 1), "b": [None, True, 2, 2.5, "s"]}
    loaded = load_json(json.dumps(NewForm().graph(values)))
    assert loaded["a"][1].a is loaded["a"][0]
    assert loaded["b"] == (None, True, 2, 2.5, "s")
    target = tvm.target.Target("cuda", host="llvm -num-cores 2")
    assert str(load_json(json.dumps(NewForm().graph(target)))) == str(target)


def test_attributes_of_operators() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    for call in (relax.op.sum(x, [1], True), relax.op.nn.softmax(x, 0), relax.op.argsort(x, 1)):
        loaded = load_json(json.dumps(NewForm().graph(call)))
        tvm.ir.assert_structural_equal(loaded, call, map_free_vars=True)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "bool", "bfloat16"])
def test_tensors(dtype: str) -> None:
    import ml_dtypes

    element = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    data = np.arange(6).reshape(2, 3).astype(element)
    graph = {"root_index": 0, "nodes": [{"type": "ffi.Tensor", "data": tensor_text(data)}]}
    np.testing.assert_array_equal(load_json(json.dumps(graph)).numpy(), data)


def test_long_chains_need_no_recursion() -> None:
    total: tir.PrimExpr = tir.Var("x", "int32")
    nodes: list[dict[str, Any]] = [
        {"type": "None"},
        {"type": "ffi.String", "data": "x"},
        {"type": "ir.PrimType", "data": {"dtype": "int32", "span": 0}},
        {"type": "tir.Var", "data": {"dtype": "int32", "name": 1, "type_annotation": 2, "span": 0}},
    ]
    for _ in range(3000):
        at = len(nodes) - 1
        nodes.append({"type": "tir.Add", "data": {"dtype": "int32", "a": at, "b": at, "span": 0}})
        total = total + 1
    loaded = load_json(json.dumps({"root_index": len(nodes) - 1, "nodes": nodes}))
    assert loaded.a is loaded.b


def _one(node: Any) -> dict[str, Any]:
    return {"root_index": 0, "nodes": [node]}


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"root_index": 1, "nodes": []}, "found: 1"),
        ({"root_index": 0, "nodes": 7}, "found: 7"),
        (_one({"type": "tir.Moon", "data": {}}), "no node type 'tir.Moon'"),
        (_one({"type": "tir.Add", "data": 3}), "tir.Add with 3"),
        (_one({"type": "tir.Add", "data": {"a": 0, "b": 0}}), "node 0 contains itself"),
        (_one({"type": "ffi.Array", "data": [4]}), "found: 4"),
        (_one({"type": "ffi.Array", "data": "x"}), "node 0: 'x'"),
        (_one({"type": "ffi.Tensor", "data": "!"}), "a tensor with"),
        (_one({"type": "ir.Op", "data": "no.such"}), "no.such"),
        (_one({"data": 1}), "node 0"),
    ],
)
def test_damaged_graphs(graph: Any, found: str) -> None:
    with pytest.raises((JSONError, tvm.TVMError)) as error:
        load_json(json.dumps(graph))
    assert found in str(error.value)


def test_tensors_with_missing_bytes() -> None:
    text = tensor_text(np.zeros(4, "float32"))
    short = base64.b64encode(base64.b64decode(text)[:-4]).decode()
    with pytest.raises(JSONError, match="12 bytes for a tensor of shape"):
        load_json(json.dumps(_one({"type": "ffi.Tensor", "data": short})))

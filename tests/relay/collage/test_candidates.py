"""Which candidates stay, and what they are called."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.relay.collage.candidates import Candidate, pruned
from tvm.relay.collage.dataflow_graph import DataflowGraph
from tvm.relay.collage.partition_rules import tvm_parts
from tvm.relay.collage.sub_graph import SubGraph, operator_names

pytestmark = pytest.mark.pure

LLVM = tvm.target.Target("llvm")
TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { abs(nn.relu(exp(%x))) }'


def names(graph: DataflowGraph, candidates: list[Candidate]) -> list[str]:
    return [operator_names(graph, one.nodes) for one in candidates]


def test_the_greatest_and_what_others_leave_of_them() -> None:
    graph = DataflowGraph(relay.fromtext(TEXT)["main"])
    ours = [Candidate(part, LLVM, "") for part in tvm_parts(graph, 8)]
    assert names(graph, pruned(graph, ours)) == ["exp_nn_relu_abs"]
    relu = next(one.part for one in ours if operator_names(graph, one.nodes) == "nn_relu")
    left = pruned(graph, [*ours, Candidate(relu, LLVM, "other")])
    assert len(left) == len(ours) + 1
    assert names(graph, left)[:3] == ["exp_nn_relu_abs", "exp_nn_relu", "exp"]


def test_names_of_functions() -> None:
    graph = DataflowGraph(relay.fromtext(TEXT)["main"])
    calls = [1 << at for at in range(len(graph.nodes)) if graph.is_call(at)]
    one = Candidate(SubGraph(sum(calls)), LLVM, "my-own")
    assert one.attrs(graph)["global_symbol"] == "collage_my_own_exp_nn_relu_abs"
    assert one.attrs(graph, merged=True)["global_symbol"] == "collage_my_own"
    assert Candidate(one.part, LLVM, "").attrs(graph) == {}

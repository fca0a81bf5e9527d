"""What compilers may take at once."""

from __future__ import annotations

import pytest

from tvm import relay
from tvm.relay.collage.dataflow_graph import DataflowGraph
from tvm.relay.collage.partition_rules import (
    LabelledDFPatternPartitionRule,
    PatternBYOCPartitionRule,
    tvm_parts,
)
from tvm.relay.collage.sub_graph import operator_names
from tvm.relay.dataflow_pattern import is_op, wildcard

pytestmark = pytest.mark.pure


def graph_of(body: str) -> DataflowGraph:
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 4), float32]) {{ {body} }}'
    return DataflowGraph(relay.fromtext(text)["main"])


def test_as_deep_as_allowed() -> None:
    graph = graph_of("abs(nn.relu(exp(%x)))")
    found = {operator_names(graph, part.nodes) for part in tvm_parts(graph, 2)}
    assert found == {"exp", "nn_relu", "abs", "exp_nn_relu", "nn_relu_abs"}


@pytest.mark.parametrize(
    ("style", "found"),
    [
        ("NoFusion", {"nn_relu", "nn_dense"}),
        ("TVMFusion", {"nn_relu", "nn_dense", "nn_dense_nn_relu"}),
        ("ArbitraryFusion", {"nn_relu", "nn_dense", "nn_dense_nn_relu", "nn_relu_nn_dense",
                             "nn_relu_nn_dense_nn_relu"}),
    ],
)  # fmt: skip
def test_patterns_and_what_touches_them(style: str, found: set[str]) -> None:
    graph = graph_of("%0 = nn.relu(%x); nn.relu(nn.dense(%0, %0, units=None))")
    rules = [
        LabelledDFPatternPartitionRule("c", "c.relu", is_op("nn.relu")(wildcard())),
        LabelledDFPatternPartitionRule("c", "c.dense", is_op("nn.dense")(wildcard(), wildcard())),
    ]
    parts = PatternBYOCPartitionRule("c", rules).parts(graph, style, 8)
    assert {operator_names(graph, part.nodes) for part in parts} == found


def test_a_check_refuses_matches() -> None:
    graph = graph_of("nn.relu(%x)")
    pattern = is_op("nn.relu")(wildcard())
    assert not LabelledDFPatternPartitionRule("c", "c.relu", pattern, lambda _: False).parts(graph)

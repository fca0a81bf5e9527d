"""Numbers, users and scopes of the expressions of a function."""

from __future__ import annotations

import pytest

from tvm import relay
from tvm.relay.collage.dataflow_graph import OPAQUE, DataflowGraph, members

pytestmark = pytest.mark.pure


def test_users_and_what_is_below() -> None:
    x = relay.var("x", shape=(2,))
    a = relay.nn.relu(x)
    b = relay.abs(a)
    total = relay.add(a, b)
    graph = DataflowGraph(relay.Function([x], total))
    at = {name: graph.index[id(node)] for name, node in dict(x=x, a=a, b=b, t=total).items()}
    assert set(members(graph.users[at["a"]])) == {at["b"], at["t"]}
    assert graph.below[at["x"]] >> at["t"] & 1
    assert not graph.below[at["b"]] >> at["a"] & 1
    assert [graph.kind(at[name]) for name in "xat"] == [OPAQUE, 0, 1]


def test_a_variable_has_its_value_and_branches_their_scopes() -> None:
    x, y, c = relay.var("x", shape=(2,)), relay.var("y"), relay.var("c", shape=(), dtype="bool")
    value, other = relay.nn.relu(x), relay.abs(y)
    func = relay.Function([x, c], relay.Let(y, value, relay.If(c, other, y)))
    graph = DataflowGraph(func)
    at = {name: graph.index[id(n)] for name, n in dict(y=y, v=value, o=other, f=func).items()}
    assert graph.inputs[at["y"]] == [at["v"]]
    assert graph.scope[at["v"]] == graph.scope[at["y"]] == at["f"]
    assert graph.scope[at["o"]] == at["o"]

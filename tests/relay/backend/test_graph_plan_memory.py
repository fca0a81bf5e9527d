"""Storages of the values between kernels, and what a graph's JSON says of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor

pytestmark = pytest.mark.pure


def kernels(func: relay.Function) -> Any:
    """The function with a kernel for each call."""
    mod = relay.transform.FuseOps(0)(tvm.IRModule.from_expr(func))
    return relay.transform.InferType()(mod)["main"]


def storages(func: Any) -> dict[Any, list[int]]:
    plan = relay.backend._backend.GraphPlanMemory(func)
    return {e: info.storage_ids for e, info in plan.expr_to_storage_info.items()}


def chain(x: Any, length: int) -> Any:
    for _ in range(length):
        x = relay.exp(x)
    return x


def test_two_storages_in_turn() -> None:
    x, y = relay.var("x", shape=(10,)), relay.var("y", shape=(1,))
    func = kernels(relay.Function([x, y], chain(relay.add(x, relay.exp(y)), 5)))
    plan = relay.backend._backend.GraphPlanMemory(func).expr_to_storage_info
    assert len({number for info in plan.values() for number in info.storage_ids}) == 4
    assert plan[func.body].storage_sizes == [4]  # as it was made, for exp(y)
    assert len(plan[func.body].virtual_devices) == len(plan[func.body].device_types) == 1


def test_results_and_what_is_read_again_are_kept() -> None:
    x = relay.var("x", shape=(4,))
    first = relay.exp(x)
    func = kernels(relay.Function([x], relay.Tuple([first, chain(first, 4)])))
    held = storages(func)
    kept, last = (held[field] for field in func.body.fields)
    assert held[func.body] == kept + last
    between = [n for e, ns in held.items() if e not in func.body.fields for n in ns]
    assert kept[0] not in [n for n in between if n != kept[0]]
    assert kept != last
    assert held[func.params[0]][0] not in kept + last


def test_sizes_that_differ_much_do_not_share() -> None:
    x = relay.var("x", shape=(1, 64))
    wide = relay.broadcast_to(relay.exp(x), (64, 64))
    func = kernels(relay.Function([x], chain(relay.max(wide), 2)))
    sizes = relay.backend._backend.GraphPlanMemory(func).expr_to_storage_info
    assert sorted({info.storage_sizes[0] for info in sizes.values()}) == [4, 256, 16384]


def test_fields_of_tuples_have_the_storage_of_their_part() -> None:
    x = relay.var("x", shape=(6,))
    parts = relay.split(x, 3)
    func = kernels(relay.Function([x], relay.add(parts[0], parts[2])))
    held = storages(func)
    whole = next(numbers for numbers in held.values() if len(numbers) == 3)
    assert len(set(whole)) == 3
    assert [n for e, n in held.items() if isinstance(e, relay.TupleGetItem)] == [
        [whole[0]], [whole[2]],
    ]  # fmt: skip


def test_the_graph_says_types_and_storages() -> None:
    x = relay.var("x", shape=(2, 4))
    first = relay.nn.softmax(x)
    other = relay.reshape(first, (8,))
    func = relay.Function([x], relay.Tuple([other, relay.nn.softmax(relay.cast(x, "float16"))]))
    lib = relay.build(tvm.IRModule.from_expr(func), "llvm")
    graph = json.loads(lib.get_graph_json())
    names = [node["name"] for node in graph["nodes"]]
    again = names.index("reshape_nop")
    assert graph["nodes"][again]["attrs"]["func_name"] == "__nop"
    kinds, held, shapes = (graph["attrs"][k][1] for k in ("dltype", "storage_id", "shape"))
    assert held[again] == held[names.index("tvmgen_default_fused_nn_softmax")]
    assert shapes[again] == [8]
    assert sorted(set(kinds)) == ["float16", "float32"]
    assert graph["node_row_ptr"] == list(range(len(names) + 1))
    runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    runner.run(x=np.zeros((2, 4), "float32"))
    np.testing.assert_array_equal(runner.get_output(0).numpy(), np.full(8, 0.25, "float32"))


def test_constants_stand_where_they_are_read() -> None:
    x = relay.var("x", shape=(2,))
    body = relay.add(relay.exp(x), relay.const(np.ones(2, "float32")))
    with tvm.transform.PassContext(opt_level=0):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], body)), "llvm")
    graph = json.loads(lib.get_graph_json())
    names = [node["name"] for node in graph["nodes"]]
    assert names == ["x", "tvmgen_default_fused_exp", "p0", "tvmgen_default_fused_add"]
    assert graph["arg_nodes"] == [0, 2]
    runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    runner.run(x=np.zeros(2, "float32"))
    np.testing.assert_array_equal(runner.get_output(0).numpy(), [2, 2])


def test_only_kernels_share_the_storage_of_a_reshape() -> None:
    x = relay.var("x", shape=(4,))
    func = kernels(relay.Function([x], relay.exp(relay.reshape(relay.exp(x), (2, 2)))))
    assert sorted(storages(func).values()) == [[0], [1], [1], [2]]


def test_storages_come_with_device_and_size() -> None:
    info = relay.expr.StorageInfo([0, 1], [tvm.cpu(), tvm.cpu()], [4, 8])
    assert info.device_types == [1, 1]
    with pytest.raises(ValueError, match="2 storages, 1 devices, 2 sizes"):
        relay.expr.StorageInfo([0, 1], [tvm.cpu()], [4, 8])

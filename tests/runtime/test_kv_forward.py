"""What kernels are told: positions, places in pages, and trees."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.runtime import tensor
from tvm.runtime.kv_forward import Forward, tree_order
from tvm.runtime.kv_pages import PageTable

pytestmark = pytest.mark.pure


def _forward(names: list[int], counts: list[int], parents: list[int] | None = None) -> Forward:
    table = PageTable(16, 4, lambda *_: None)
    for name in names:
        table.reserve(table.add(name), 2 + name)
    return Forward(
        table, names, counts, parents, sliding=False, per_layer_window=False,
        send=lambda values: tensor(np.array(values, "int32")),
    )  # fmt: skip


def test_tokens_and_where_they_go() -> None:
    now = _forward([0, 5], [3, 2])
    assert now.indptr.numpy().tolist() == [0, 3, 5]
    assert now.positions.numpy().tolist() == [2, 3, 4, 7, 8]
    assert now.append_map.numpy().tolist() == [2, 3, 12, 11, 16]
    assert not now.append_first
    assert now.cached.lengths.numpy().tolist() == [2, 3]
    assert now.cached.indices.numpy().tolist() == [0, 1, 2]


def test_single_tokens_see_themselves_in_pages() -> None:
    now = _forward([0, 5], [1, 1])
    assert now.append_first
    assert now.cached.lengths.numpy().tolist() == [3, 4]


def test_positions_in_a_tree_are_depths() -> None:
    now = _forward([0], [4], [-1, 0, 0, 1])
    assert now.positions.numpy().tolist() == [2, 3, 3, 4]
    assert not now.is_chain


def test_descendants_lie_within_their_ancestors() -> None:
    parents = [-1, 0, 0, 1, -1, 4]
    order = tree_order(parents)
    for node in range(6):
        above, up = {node}, node
        while parents[up] != -1:
            up = parents[up]
            above.add(up)
        inside = {
            i for i in range(6) if order[i, 0] <= order[node, 0] and order[node, 1] <= order[i, 1]
        }
        assert inside == above

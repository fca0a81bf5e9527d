"""Attention caches against numpy: the whole attention over all tokens of a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.runtime import attention_kernels as kernels
from tvm.error import ShapeError, TVMError
from tvm.ffi import get_global_func
from tvm.runtime import ShapeTuple, empty, tensor

pytestmark = pytest.mark.pure
HEADS, KV, DIM, LAYERS, THETA, SCALE = 4, 2, 8, 2, 1e4, 1.0
NONE, NORMAL, INLINE = 0, 1, 2


def _call(name: str, *args: Any) -> Any:
    return get_global_func(f"vm.builtin.{name}")(*args)


def _create(
    rope: int = NONE, sliding: bool = False, page: int = 4, tokens: int = 256, kinds: int = 0,
    **changed: Any,
) -> Any:  # fmt: skip
    given: dict[str, Any] = {
        "append": kernels.append, "append_mla": None, "ragged": ["tir", kernels.ragged],
        "prefill": ["tir", kernels.prefill], "decode": ["tir", kernels.decode],
        "prefill_sliding": ["tir", kernels.prefill], "decode_sliding": ["tir", kernels.decode],
        "tree_paged": ["tir", kernels.tree_prefill], "tree": ["tir", kernels.tree_ragged],
        "mla": [], "merge": [kernels.merge], "rotary": kernels.split_rotary_of(THETA, SCALE),
        "copy": kernels.copy_page, "debug": kernels.debug_get, "compact": kernels.compact,
    }  # fmt: skip
    given.update(changed)
    sizes = ShapeTuple([8, tokens, 128, page, int(sliding)])
    return _call(
        "paged_attention_kv_cache_create", sizes, ShapeTuple([0, LAYERS]), HEADS, KV, DIM, DIM,
        ShapeTuple([0, kinds]), False, rope, SCALE, THETA, None, empty((), "float32"),
        *given.values(),
    )  # fmt: skip


class Model:
    """A cache, and all keys and values as arrays beside it."""

    def __init__(self, rope: int = NONE, **options: Any) -> None:
        self.rope = rope
        self.cache = _create(rope, **options)
        self.rng = np.random.default_rng(0)
        self.held: dict[int, list[tuple[Any, Any]]] = {}

    def do(self, name: str, *args: Any) -> Any:
        return _call(f"kv_state_{name}", self.cache, *args)

    def add(self, *names: int) -> None:
        for name in names:
            self.do("add_sequence", name)
            nothing = np.zeros((0, KV, DIM), "float32")
            self.held[name] = [(nothing, nothing)] * LAYERS

    def fork(self, parent: int, child: int, at: int = -1) -> None:
        self.do("fork_sequence", parent, child, at)
        end = len(self.held[parent][0][0]) if at == -1 else at
        self.held[child] = [(k[:end], v[:end]) for k, v in self.held[parent]]

    def pop(self, name: int, count: int) -> None:
        self.do("popn", name, count)
        end = len(self.held[name][0][0]) - count
        self.held[name] = [(k[:end], v[:end]) for k, v in self.held[name]]

    def forward(
        self, batch: Sequence[tuple[int, int]], trees: Sequence[Sequence[int]] | None = None
    ) -> None:
        """Append to sequences, and check what their new tokens attend to."""
        counts = [count for _, count in batch]
        parents = None if trees is None else ShapeTuple([p for tree in trees for p in tree])
        names = ShapeTuple([name for name, _ in batch])
        self.do("begin_forward", names, ShapeTuple(counts), parents)
        for layer in range(LAYERS):
            qkv = self.rng.standard_normal((sum(counts), HEADS + 2 * KV, DIM)).astype("float32")
            out = empty((sum(counts), HEADS, DIM), "float32")
            _call("attention_kv_cache_attention_with_fused_qkv", self.cache, layer, 0.3,
                  tensor(qkv), out)  # fmt: skip
            wanted, at = [], 0
            for i, (name, count) in enumerate(batch):
                tree = None if trees is None else trees[i]
                wanted.append(self._expected(qkv[at : at + count], name, layer, tree))
                at += count
            np.testing.assert_allclose(out.numpy(), np.concatenate(wanted), rtol=1e-4, atol=1e-5)
        self.do("end_forward")

    def _expected(self, qkv: Any, name: int, layer: int, tree: Sequence[int] | None) -> Any:
        q, k, v = qkv[:, :HEADS], qkv[:, HEADS : HEADS + KV], qkv[:, HEADS + KV :]
        old_k, old_v = self.held[name][layer]
        parents = list(range(-1, len(qkv) - 1)) if tree is None else list(tree)
        seen = np.zeros((len(qkv), len(qkv)), bool)
        depth = np.zeros(len(qkv), "int64")
        for i, parent in enumerate(parents):
            if parent >= 0:
                seen[i], depth[i] = seen[parent], depth[parent] + 1
            seen[i, i] = True
        at = len(old_k) + depth
        if self.rope != NONE:
            q = kernels.rope(q, at, THETA, SCALE)
        if self.rope == NORMAL:
            k = kernels.rope(k, at, THETA, SCALE).astype("float32")
        keys = np.concatenate([old_k, k])
        self.held[name][layer] = (keys, np.concatenate([old_v, v]))
        if self.rope == INLINE:
            places = np.concatenate([np.arange(len(old_k)), at])
            keys = kernels.rope(keys, places, THETA, SCALE)
        visible = np.concatenate([np.ones((len(q), len(old_k)), bool), seen], 1)
        return kernels.attend(q, keys, np.concatenate([old_v, v]), 0.3, visible)[0]

    def commit(self, names: Sequence[int], trees: Sequence[Any], leaves: Sequence[int]) -> None:
        _call("attention_kv_cache_commit_accepted_token_tree_nodes", self.cache,
              ShapeTuple(names), ShapeTuple(leaves))  # fmt: skip
        for name, tree, leaf in zip(names, trees, leaves):
            path = []
            while leaf != -1:
                path.append(leaf)
                leaf = tree[leaf]
            base = len(self.held[name][0][0]) - len(tree)
            kept = [*range(base), *[base + node for node in path[::-1]]]
            self.held[name] = [(k[kept], v[kept]) for k, v in self.held[name]]

    def check_held(self) -> None:
        for name, layers in self.held.items():
            count = len(layers[0][0])
            k, v = (empty((LAYERS, count, KV, DIM), "float32") for _ in range(2))
            _call("attention_kv_cache_debug_get_kv", self.cache, name, 0, count, k, v)
            np.testing.assert_allclose(k.numpy(), [k for k, _ in layers], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(v.numpy(), [v for _, v in layers], rtol=1e-4, atol=1e-5)

    @property
    def free(self) -> int:
        return int(_call("attention_kv_cache_get_num_available_pages", self.cache))

    @property
    def is_empty(self) -> bool:
        return bool(_call("attention_kv_cache_empty", self.cache))


@pytest.mark.parametrize("rope", [NONE, NORMAL, INLINE])
@pytest.mark.parametrize("page", [1, 4, 16])
def test_prompts_and_steps_of_several_sequences(rope: int, page: int) -> None:
    model = Model(rope, page=page)
    model.add(0, 1, 2)
    model.forward([(0, 6)])
    model.forward([(1, 8), (2, 3)])
    for _ in range(3):
        model.forward([(2, 1), (0, 1)])
    model.forward([(0, 1), (1, 5)])  # a step and a prompt at once
    model.check_held()
    assert _call("attention_kv_cache_get_total_sequence_length", model.cache) == 29
    for name in (0, 1, 2):
        assert not model.is_empty
        model.do("remove_sequence", name)
    assert model.is_empty


@pytest.mark.parametrize("rope", [NONE, NORMAL, INLINE])
def test_forks_share_pages_and_go_their_own_ways(rope: int) -> None:
    model = Model(rope)
    model.add(0)
    model.forward([(0, 10)])
    before = model.free
    model.fork(0, 1, 8)  # two full pages are shared
    assert model.free == before
    model.fork(0, 2)  # and a page with room is copied
    assert model.free == before - 1
    model.fork(2, 3, 5)
    model.forward([(0, 1), (1, 1), (2, 1), (3, 1)])
    model.forward([(3, 7), (1, 4)])
    model.do("remove_sequence", 0)
    del model.held[0]
    model.fork(1, 0, 0)
    model.forward([(1, 1), (0, 3)])
    model.check_held()
    for name in (0, 1, 2, 3):
        model.do("remove_sequence", name)
    assert model.is_empty


@pytest.mark.parametrize("rope", [NONE, NORMAL])
def test_popped_tokens_are_replaced_and_shared_pages_are_kept(rope: int) -> None:
    model = Model(rope)
    model.add(0)
    model.forward([(0, 16)])
    model.fork(0, 1)
    model.pop(1, 6)  # into a page that both use
    model.forward([(1, 4), (0, 1)])
    model.pop(0, 17)
    model.forward([(0, 2)])
    model.check_held()
    with pytest.raises(TVMError, match="popn: 3 tokens of sequence 0"):
        model.do("popn", 0, 3)


@pytest.mark.parametrize("rope", [NONE, INLINE])
@pytest.mark.parametrize("sinks", [0, 3, 4])
def test_a_window_keeps_the_sinks_and_the_last_tokens(rope: int, sinks: int) -> None:
    model = Model(rope, sliding=True)
    model.add(0, 1)
    window = {0: (10, sinks)}
    _call("attention_kv_cache_enable_sliding_window_for_seq", model.cache, 0, *window[0])
    for batch in [[(0, 6)], [(0, 9), (1, 5)], *[[(1, 1), (0, 1)]] * 9, [(0, 12)], [(0, 1)]]:
        model.forward(batch)
        for name, (size, first) in window.items():
            length = len(model.held[name][0][0])
            kept = [*range(first), *range(first + max(length - size, 0), length)]
            model.held[name] = [(k[kept], v[kept]) for k, v in model.held[name]]
    model.check_held()
    model.pop(0, 2)
    model.check_held()
    assert model.free >= 64 + 1 + 16 - 4 - 4
    with pytest.raises(TVMError, match="cannot be enabled twice"):
        _call("attention_kv_cache_enable_sliding_window_for_seq", model.cache, 0, 8, 1)
    with pytest.raises(TVMError, match="in a sliding window"):
        model.do("fork_sequence", 0, 5, -1)
    model.do("remove_sequence", 0)
    model.do("remove_sequence", 1)
    assert model.is_empty


def test_layers_may_have_a_window_of_their_own() -> None:
    model = Model(kinds=3)
    model.add(0)
    _call("attention_kv_cache_enable_sliding_window_for_seq", model.cache, 0, 6, 0)
    model.forward([(0, 5)])
    for _ in range(7):
        full, windowed = model.held[0]
        model.held[0] = [full, (windowed[0][-5:], windowed[1][-5:])]  # six, with the new one
        model.forward([(0, 1)])
    assert [len(k) for k, _ in model.held[0]] == [12, 6]


TREES = [[-1, 0, 0, 1, 1, 2, 2], [-1, 0, 1, 2, 3], [-1, 0, 0, -1, 3, 3, 4]]


@pytest.mark.parametrize("rope", [NONE, NORMAL, INLINE])
@pytest.mark.parametrize("leaves", [[6, 2, 5], [3, -1, 2], [0, 4, 6]])
def test_one_path_of_a_tree_stays(rope: int, leaves: list[int]) -> None:
    model = Model(rope)
    model.add(0, 1, 2)
    model.forward([(0, 3), (1, 6), (2, 4)])
    model.forward([(0, 7), (1, 5), (2, 7)], TREES)
    with pytest.raises(TVMError, match="not committed"):
        model.do("begin_forward", ShapeTuple([0]), ShapeTuple([1]))
    model.commit([0, 1, 2], TREES, leaves)
    for _ in range(3):
        model.forward([(0, 1), (2, 1), (1, 1)])
    model.check_held()


def test_a_tree_may_grow_before_a_path_is_chosen() -> None:
    cache = Model(NORMAL)
    cache.add(0)
    cache.forward([(0, 5)])
    cache.forward([(0, 3)], [[-1, 0, 0]])
    base = [(k[:5], v[:5]) for k, v in cache.held[0]]
    seen: list[Any] = []
    names, counts, parents = ShapeTuple([0]), ShapeTuple([2]), ShapeTuple([1, 2])
    cache.do("begin_forward", names, counts, parents)
    positions = _call("attention_kv_cache_get_query_positions", cache.cache)
    assert positions.numpy().tolist() == [7, 7]
    for layer in range(LAYERS):
        qkv = cache.rng.standard_normal((2, HEADS + 2 * KV, DIM)).astype("float32")
        out = empty((2, HEADS, DIM), "float32")
        _call("attention_kv_cache_attention_with_fused_qkv", cache.cache, layer, 0.3,
              tensor(qkv), out)  # fmt: skip
        old_k, old_v = cache.held[0][layer]
        q = kernels.rope(qkv[:, :HEADS], np.array([7, 7]), THETA, SCALE)
        k = kernels.rope(qkv[:, HEADS : HEADS + KV], np.array([7, 7]), THETA, SCALE)
        k, v = np.concatenate([old_k, k]), np.concatenate([old_v, qkv[:, HEADS + KV :]])
        seen = [[*range(5), 5, 6, 8], [*range(5), 5, 7, 9]]
        for row, places in enumerate(seen):
            visible = np.ones((1, len(places)), bool)
            wanted = kernels.attend(q[row : row + 1], k[places], v[places], 0.3, visible)[0]
            np.testing.assert_allclose(out.numpy()[row : row + 1], wanted, rtol=1e-4, atol=1e-5)
        cache.held[0][layer] = (k.astype("float32"), v)
    cache.do("end_forward")
    cache.commit([0], [[-1, 0, 0, 1, 2]], [4])
    assert len(cache.held[0][0][0]) == len(base[0][0]) + 3
    cache.forward([(0, 1)])
    cache.check_held()


def test_the_parts_of_an_attention_one_by_one() -> None:
    model = Model()
    model.add(0)
    model.forward([(0, 5)])
    model.do("begin_forward", ShapeTuple([0]), ShapeTuple([3]))
    q, k, v = (tensor(model.rng.standard_normal((3, heads, DIM)).astype("float32"))
               for heads in (HEADS, KV, KV))  # fmt: skip
    out, other = empty((3, HEADS, DIM), "float32"), empty((3, HEADS, DIM), "float32")
    lse, other_lse = empty((3, HEADS), "float32"), empty((3, HEADS), "float32")
    _call("attention_kv_cache_self_attention", model.cache, 1, 0.3, q, k, v, out, lse)
    _call("attention_kv_cache_cross_attention", model.cache, 1, 0.3, q, other, other_lse)
    merged = _call("attention_kv_cache_merge_attn_output_inplace", model.cache, out, lse, other,
                   other_lse)  # fmt: skip
    old_k, old_v = model.held[0][1]
    visible = np.concatenate([np.ones((3, 5), bool), np.tri(3, dtype=bool)], 1)
    keys, values = np.concatenate([old_k, k.numpy()]), np.concatenate([old_v, v.numpy()])
    wanted, sums = kernels.attend(q.numpy(), keys, values, 0.3, visible)
    np.testing.assert_allclose(merged[0].numpy(), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(merged[1].numpy(), sums, rtol=1e-4, atol=1e-5)


def test_compressed_keys_and_values() -> None:
    def append(pages: Any, kv: Any, places: Any) -> None:
        held = pages.numpy().copy()
        for row, place in zip(kv.numpy(), places.numpy()):
            held[place // held.shape[1], place % held.shape[1]] = row
        kernels.store(pages, held)

    def attend(q: Any, indptr: Any, pages: Any, page_indptr: Any, indices: Any, lengths: Any,
               out: Any, lse: Any, causal: int, scale: float) -> None:  # fmt: skip
        result = out.numpy().copy()
        for b in range(len(lengths.numpy())):
            mine = indices.numpy()[page_indptr.numpy()[b] : page_indptr.numpy()[b + 1]]
            rows = pages.numpy()[mine].reshape(-1, 1, pages.shape[2])
            rows = rows[: (len(mine) - 1) * pages.shape[1] + lengths.numpy()[b]]
            at = slice(*indptr.numpy()[b : b + 2])
            visible = np.ones((at.stop - at.start, len(rows)), bool)
            result[at], _ = kernels.attend(q.numpy()[at], rows, rows[..., :5], scale, visible)
        kernels.store(out, result)

    def debug(pages: Any, places: Any, kv: Any, layer: int) -> None:
        out = kv.numpy().copy()
        out[layer] = pages.numpy().reshape(-1, pages.shape[2])[places.numpy()]
        kernels.store(kv, out)

    def unused(*_args: Any) -> None:
        raise AssertionError("not for compressed keys")

    cache = _call(
        "paged_attention_kv_cache_create", ShapeTuple([4, 64, 32, 4, 0]), ShapeTuple([0, 1]), 3,
        1, 8, 5, ShapeTuple([1]), False, 0, 1.0, 1e4, None, empty((), "float32"), None, append,
        [], [], [], [], [], [], [], ["tir", attend], [kernels.merge], unused, unused, debug, unused,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    held: dict[int, Any] = {}
    for name in (0, 1):
        _call("kv_state_add_sequence", cache, name)
        held[name] = np.zeros((0, 8), "float32")
    for batch in ([(0, 6), (1, 3)], [(1, 1), (0, 1)]):
        counts = [count for _, count in batch]
        _call("kv_state_begin_forward", cache, ShapeTuple([n for n, _ in batch]),
              ShapeTuple(counts))  # fmt: skip
        kv = rng.standard_normal((sum(counts), 8)).astype("float32")
        _call("attention_kv_cache_append_mla_kv", cache, 0, tensor(kv))
        at = 0
        for name, count in batch:
            held[name] = np.concatenate([held[name], kv[at : at + count]])
            at += count
        if counts == [1, 1]:
            q = rng.standard_normal((2, 3, 8)).astype("float32")
            out, lse = empty((2, 3, 5), "float32"), empty((2, 3), "float32")
            _call("attention_kv_cache_cross_attention", cache, 0, 0.5, tensor(q), out, lse)
            for row, (name, _) in enumerate(batch):
                rows = held[name][:, None]
                visible = np.ones((1, len(rows)), bool)
                wanted = kernels.attend(q[row : row + 1], rows, rows[..., :5], 0.5, visible)[0]
                np.testing.assert_allclose(out.numpy()[row : row + 1], wanted, rtol=1e-4, atol=1e-5)
        _call("kv_state_end_forward", cache)
    got = empty((1, 3, 8), "float32")
    _call("attention_kv_cache_debug_get_kv_mla", cache, 0, 2, 5, got)
    np.testing.assert_array_equal(got.numpy()[0], held[0][2:5])


def test_tokens_that_another_process_sends() -> None:
    model = Model()
    model.add(0, 1)
    model.forward([(0, 4)])
    model.forward([(1, 3)])
    runs = list(_call("kv_cache_disagg_prepare_recv", model.cache, 0, 7))
    assert [runs[0], runs[2]] == [1, 7]  # two pages, one behind the other
    with pytest.raises(TVMError, match="without enable_kv_transfer"):
        _call("kv_cache_disagg_mark_send", model.cache, 0, 0, ShapeTuple([1, 0, 4]), 0)


def test_a_full_cache_refuses_and_stays_as_it_was() -> None:
    model = Model(tokens=16)
    model.add(0, 1)
    model.forward([(0, 14)])
    with pytest.raises(TVMError, match="The KV cache is full"):
        model.do("begin_forward", ShapeTuple([0, 1]), ShapeTuple([1, 9]))
    model.forward([(0, 1), (1, 2)])
    model.check_held()


def test_what_is_refused() -> None:
    model = Model()
    model.add(0)
    for match, name, args in [
        ("already in the KV cache", "add_sequence", (0,)),
        ("cannot be found", "remove_sequence", (7,)),
        ("fork sequence 0 at 3", "fork_sequence", (0, 1, 3)),
        ("length 0 is not allowed", "begin_forward", (ShapeTuple([0]), ShapeTuple([0]))),
        ("2 sequences, 1 lengths", "begin_forward", (ShapeTuple([0, 1]), ShapeTuple([1]))),
        ("129 tokens", "begin_forward", (ShapeTuple([0]), ShapeTuple([129]))),
        ("Invalid token tree", "begin_forward",
         (ShapeTuple([0]), ShapeTuple([2]), ShapeTuple([-1, 1]))),
        ("parents of the tokens", "begin_forward",
         (ShapeTuple([0]), ShapeTuple([2]), ShapeTuple([-1]))),
    ]:  # fmt: skip
        with pytest.raises(TVMError, match=match):
            model.do(name, *args)
    with pytest.raises(TVMError, match="no forward pass has begun"):
        _call("attention_kv_cache_get_query_positions", model.cache)
    with pytest.raises(TVMError, match="does not support sliding window"):
        _call("attention_kv_cache_enable_sliding_window_for_seq", model.cache, 0, 4, 0)
    with pytest.raises(TVMError, match="Normal RoPE mode"):
        _create(NORMAL, sliding=True)
    model.do("begin_forward", ShapeTuple([0]), ShapeTuple([2]))
    out = empty((2, HEADS, DIM), "float32")
    with pytest.raises(ShapeError, match="attention: qkv"):
        _call("attention_kv_cache_attention_with_fused_qkv", model.cache, 0, 1.0,
              empty((2, HEADS, DIM), "float32"), out)  # fmt: skip
    with pytest.raises(TVMError, match="attention of layer 5"):
        _call("attention_kv_cache_attention_with_fused_qkv", model.cache, 5, 1.0,
              empty((2, HEADS + 2 * KV, DIM), "float32"), out)  # fmt: skip

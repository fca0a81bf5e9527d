"""States of recurrent layers: read, written, forked and taken back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.ffi import get_global_func
from tvm.runtime import ShapeTuple, empty, tensor

pytestmark = pytest.mark.pure
HISTORY = 4
FIRST, SECOND = np.zeros((2, 3), "float32"), np.ones((4,), "float16")


def _get(storage: Any, slots: Any, steps: Any, out: Any) -> None:
    out.copyfrom(np.ascontiguousarray(storage.numpy()[slots.numpy(), steps.numpy()]))


def _set(storage: Any, slots: Any, steps: Any, data: Any) -> None:
    held = storage.numpy().copy()
    held[slots.numpy(), (steps.numpy() + 1) % held.shape[1]] = data.numpy()
    storage.copyfrom(held)


def _call(name: str, *args: Any) -> Any:
    return get_global_func(f"vm.builtin.{name}")(*args)


def _state(history: int = HISTORY, sequences: int = 4) -> Any:
    return _call("rnn_state_create", 2, sequences, history, [_get] * 2, [_set] * 2,
                 [tensor(FIRST), tensor(SECOND)])  # fmt: skip


def _step(state: Any, names: list[int], value: float, count: int = 1) -> None:
    _call("kv_state_begin_forward", state, ShapeTuple(names), ShapeTuple([count] * len(names)))
    for index, like in enumerate((FIRST, SECOND)):
        data = np.full((len(names), *like.shape), value, like.dtype)
        _call("rnn_state_set", state, 1, index, tensor(data))
        _call("rnn_state_set", state, 0, index, tensor(-data))
    _call("kv_state_end_forward", state)


def _value(state: Any, name: int) -> float:
    values = [_call("rnn_state_debug_get", state, 1, i, name).numpy() for i in (0, 1)]
    assert [v.shape for v in values] == [FIRST.shape, SECOND.shape]
    assert len({float(v) for value in values for v in value.flat}) == 1
    return float(values[0].flat[0])


def test_states_start_as_given_and_are_read_for_a_batch() -> None:
    state = _state()
    for name in (0, 3):
        _call("kv_state_add_sequence", state, name)
    _step(state, [3], 7.0)
    _call("kv_state_begin_forward", state, ShapeTuple([3, 0]), ShapeTuple([1, 1]))
    out = empty((2, 2, 3), "float32")
    assert _call("rnn_state_get", state, 1, 0, out).same_as(out)
    assert out.numpy()[:, 0, 0].tolist() == [7.0, 0.0]
    other = _call("rnn_state_get", state, 0, 1, empty((2, 4), "float16"))
    assert other.numpy().tolist() == [[-7.0] * 4, [1.0] * 4]


def test_steps_are_taken_back_as_far_as_the_history_goes() -> None:
    state = _state()
    _call("kv_state_add_sequence", state, 0)
    for value in range(2, 8):
        _step(state, [0], value)
    _call("kv_state_popn", state, 0, 2)
    assert _value(state, 0) == 5
    with pytest.raises(TVMError, match="1 steps can be taken back"):
        _call("kv_state_popn", state, 0, 2)
    _step(state, [0], 9, count=5)
    with pytest.raises(TVMError, match="0 steps can be taken back"):
        _call("kv_state_popn", state, 0, 1)


def test_forks_have_the_history_of_their_parent() -> None:
    state = _state()
    _call("kv_state_add_sequence", state, 0)
    for value in (2, 3, 4):
        _step(state, [0], value)
    _call("kv_state_fork_sequence", state, 0, 1, -1)
    _call("kv_state_fork_sequence", state, 0, 2, 2)
    assert [_value(state, name) for name in (0, 1, 2)] == [4, 4, 3]
    _step(state, [1], 8)
    _call("kv_state_popn", state, 1, 2)
    assert [_value(state, name) for name in (0, 1, 2)] == [4, 3, 3]
    _call("kv_state_remove_sequence", state, 0)
    with pytest.raises(TVMError, match="sequence 0"):
        _call("kv_state_popn", state, 0, 1)
    _call("kv_state_clear", state)
    _call("kv_state_add_sequence", state, 1)
    with pytest.raises(TVMError, match="it is there"):
        _call("kv_state_add_sequence", state, 1)


def test_what_is_refused() -> None:
    with pytest.raises(TVMError, match="history 0"):
        _state(0)
    state = _state(sequences=1)
    _call("kv_state_add_sequence", state, 0)
    with pytest.raises(TVMError, match="no slot is free"):
        _call("kv_state_add_sequence", state, 1)
    with pytest.raises(TVMError, match="a state has no branches"):
        _call("kv_state_begin_forward", state, ShapeTuple([0]), ShapeTuple([3]),
              ShapeTuple([-1, 0, 0]))  # fmt: skip
    with pytest.raises(TVMError, match="layer 5"):
        _call("rnn_state_debug_get", state, 5, 0, 0)
    with pytest.raises(TVMError, match="state 2"):
        _call("rnn_state_debug_get", state, 0, 2, 0)
    with pytest.raises(TypeError, match="a paged KV cache"):
        _call("attention_kv_cache_empty", state)
    with pytest.raises(TVMError, match="fork sequence 0 at 3"):
        _call("kv_state_fork_sequence", state, 0, 1, 3)

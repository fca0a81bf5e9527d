"""States of recurrent layers, of many sequences, with the last steps kept so that they can be
taken back.

A state lies in a tensor of (sequence slots, steps, *state); the caller's functions read the
current step of a batch and write the one after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm.error import TVMError, message
from tvm.ffi.object import Object

from ._tensor import Tensor, empty, host_view, tensor

Kernel = Callable[..., Any]


class _Sequence:
    """Where a sequence is kept, its current step, and how many steps can be taken back."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.step = 0
        self.known = 0
        self.length = 0


class RNNState(Object):
    """The states of all layers and sequences."""

    def __init__(
        self, layers: int, sequences: int, history: int, gets: Sequence[Kernel],
        sets: Sequence[Kernel], initial: Sequence[Tensor],
    ) -> None:  # fmt: skip
        if history <= 0 or not len(initial) == len(gets) == len(sets) >= 1:
            raise TVMError(
                message(
                    "rnn_state_create",
                    found=f"history {history}, {len(gets)} getters, {len(sets)} setters, "
                    f"{len(initial)} initial values",
                    legal="a positive history, and a getter, a setter and a value for each state",
                )
            )
        self.history = history
        self.device = initial[0].device
        self.gets, self.sets = list(gets), list(sets)
        self.initial = [value.numpy() for value in initial]
        self.storage = [
            [empty((sequences, history, *value.shape), str(value.dtype), self.device)
             for value in initial]
            for _ in range(layers)
        ]  # fmt: skip
        self.capacity = sequences
        self.clear()

    def clear(self) -> None:
        """Forget all sequences."""
        self._sequences: dict[int, _Sequence] = {}
        self._free = list(range(self.capacity - 1, -1, -1))
        self._batch: list[_Sequence] = []
        self._counts: list[int] = []

    def add_sequence(self, name: int) -> None:
        """A new sequence, in the initial state."""
        made = self._new(name)
        for layer in self.storage:
            for state, value in zip(layer, self.initial):
                self._write(state, made.slot, 0, value)

    def remove_sequence(self, name: int) -> None:
        """Forget a sequence."""
        self._free.append(self._get(name, "remove_sequence").slot)
        del self._sequences[name]

    def fork_sequence(self, parent_name: int, child_name: int, position: int = -1) -> None:
        """A new sequence in the state of another, now or some steps ago."""
        parent = self._get(parent_name, "fork_sequence")
        back = 0 if position == -1 else parent.length - position
        if not 0 <= back <= parent.known:
            raise TVMError(
                message(f"fork sequence {parent_name} at {position}",
                        found=f"{parent.length} tokens, of which {parent.known} can be taken back",
                        legal=f"-1, or {parent.length - parent.known} to {parent.length}")
            )  # fmt: skip
        child = self._new(child_name)
        child.step, child.known, child.length = parent.step, parent.known, parent.length
        for layer in self.storage:
            for state in layer:
                values = _read(state, parent.slot)
                for step in range(self.history):
                    self._write(state, child.slot, step, values[step])
        self._back(child, back)

    def pop(self, name: int, count: int) -> None:
        """Take the last steps of a sequence back."""
        one = self._get(name, "popn")
        if not 0 <= count <= one.known:
            raise TVMError(
                message(f"popn: {count} tokens of sequence {name}",
                        found=f"{one.known} steps can be taken back", legal=f"0 to {one.known}")
            )  # fmt: skip
        self._back(one, count)

    def begin_forward(
        self, names: Sequence[int], counts: Sequence[int], parents: Sequence[int] | None
    ) -> None:
        """Choose the sequences that `get` reads and `set` writes."""
        if len(names) != len(counts):
            raise TVMError(
                message("begin_forward", found=f"{len(names)} sequences, {len(counts)} lengths",
                        legal="one length a sequence")
            )  # fmt: skip
        chain = [i - 1 for count in counts for i in range(count)]
        if parents is not None and list(parents) != chain:
            raise TVMError(
                message("begin_forward", found=f"parents {list(parents)}",
                        legal="each token after the one before it: a state has no branches")
            )  # fmt: skip
        self._batch = [self._get(name, "begin_forward") for name in names]
        self._counts = list(counts)

    def end_forward(self) -> None:
        """What was set is the current state."""
        for one, count in zip(self._batch, self._counts):
            one.length += count
            # a state holds one step for all tokens of a prompt: they cannot be taken back
            one.known = min(one.known + 1, self.history - 1) if count == 1 else 0
            one.step = (one.step + 1) % self.history

    def get(self, layer: int, state: int, out: Tensor) -> Tensor:
        """Read a state of the batch."""
        self.gets[self._index(state)](self._storage(layer, state), *self._slots(), out)
        return out

    def set(self, layer: int, state: int, data: Tensor) -> None:
        """Write the next state of the batch."""
        self.sets[self._index(state)](self._storage(layer, state), *self._slots(), data)

    def debug_get(self, layer: int, state: int, name: int) -> Tensor:
        """A copy of a state of one sequence."""
        one = self._get(name, "debug_get")
        return tensor(_read(self._storage(layer, state), one.slot)[one.step], self.device)

    def _slots(self) -> tuple[Tensor, Tensor]:
        slots = np.array([one.slot for one in self._batch], "int32")
        steps = np.array([one.step for one in self._batch], "int32")
        return tensor(slots, self.device), tensor(steps, self.device)

    def _index(self, state: int) -> int:
        if not 0 <= state < len(self.initial):
            raise TVMError(
                message(f"rnn_state: state {state}", found=f"{len(self.initial)} states",
                        legal=f"0 to {len(self.initial) - 1}")
            )  # fmt: skip
        return state

    def _storage(self, layer: int, state: int) -> Tensor:
        if not 0 <= layer < len(self.storage):
            raise TVMError(
                message(f"rnn_state: layer {layer}", found=f"{len(self.storage)} layers",
                        legal=f"0 to {len(self.storage) - 1}")
            )  # fmt: skip
        return self.storage[layer][self._index(state)]

    def _new(self, name: int) -> _Sequence:
        if name in self._sequences or not self._free:
            raise TVMError(
                message(
                    f"add sequence {name}",
                    found="it is there" if name in self._sequences else "no slot is free",
                    legal=f"a new number, and at most {self.capacity} sequences",
                )
            )
        made = self._sequences[name] = _Sequence(self._free.pop())
        return made

    def _get(self, name: int, asked: str) -> _Sequence:
        found = self._sequences.get(name)
        if found is None:
            raise TVMError(
                message(f"{asked}: sequence {name}", found="no sequence of this number",
                        legal=", ".join(map(str, sorted(self._sequences))) or "none: add one")
            )  # fmt: skip
        return found

    def _back(self, one: _Sequence, count: int) -> None:
        one.length -= count
        one.known -= count
        one.step = (one.step - count) % self.history

    def _write(self, storage: Tensor, slot: int, step: int, value: Any) -> None:
        shape = tuple(int(extent) for extent in storage.shape)
        size = int(np.prod(shape[2:], dtype=np.int64)) * value.dtype.itemsize
        offset = (slot * self.history + step) * size
        storage._create_view(shape[2:], str(storage.dtype), offset).copyfrom(value)


def _read(storage: Tensor, slot: int) -> Any:
    return host_view(storage)[slot] if storage.device.type == "cpu" else storage.numpy()[slot]

"""What a call of a program asks of a device, noted once and done again without the program.

    first call with such operands     the interpreter runs the program
    second                            it runs it again, and what reaches the device is noted:
                                          take 4,096 bytes            -> memory 0
                                          launch matmul(input 0, input 1, memory 0), 8 blocks
                                          launch softmax(memory 0, memory 1), 4 blocks
                                          give memory 1 as a tensor f32[64, 64]
    from then on                      the notes: memory is taken, addresses are filled in

Notes are for operands of the same shapes, types and alignment, and the same numbers: all that the
host's part of a program looks at. A program is noted only if nothing else can tell on it: its calls
are kernels that do nothing on the host but launch (`Artefact.launching`), and builtins that compute
sizes and memory. Everything else goes on as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from tvm.support.dtype import DataType

from ._device import Device
from ._tensor import Tensor, TensorForm, unsafe_view
from .device_api.api import DeviceAPI, Prepared, address_of
from .device_api.kinds import api_of
from .interruption import current_limit
from .vm_builtin import BUILTINS, Closure, VMShape

_MAX_NOTED: Final = 64  # operands of different kinds that a function is noted for
_ALIGNED: Final = 255  # bits of an address that a kernel may ask about

_WITH_SIZES: Final = "vm.builtin.call_tir_dyn"  # calls its first argument

# Builtins whose results follow from what notes are kept for, and that touch no values.
_STEADY: Final = frozenset(
    "vm.builtin." + name
    for name in (
        "alloc_shape_heap", "alloc_storage", "alloc_tensor", "check_at_most",
        "check_func_info", "check_prim_value_info", "check_shape_info", "check_tensor_info",
        "check_tuple_info", "copy", "ensure_zero_offset", "make_prim_value", "make_shape",
        "make_tuple", "match_prim_value", "match_shape", "null_value", "reshape", "shape_of",
        "tuple_getitem", "tuple_reset_item",
    )
)  # fmt: skip


class Machine(Protocol):
    """What runs programs step by step."""

    def execute(self, func: Any, args: tuple[Any, ...], hook: Any) -> Any:
        """The result of a function; `hook(name, function, arguments)` makes its calls."""

    def name_of(self, func: Any) -> str:
        """The name by which a program calls a function."""


class NotSteady(Exception):
    """A call does something that notes cannot repeat."""


class LaunchPlans:
    """The notes of a machine's functions on one device."""

    def __init__(
        self, machine: Machine, dev: Device, launching: frozenset[str],
        constants: Sequence[Tensor],
    ) -> None:  # fmt: skip
        self._machine = machine
        self._execute = machine.execute
        self._dev = dev
        self._api = api_of(dev.type, dev.index)
        self._launching = launching
        self._constants = tuple(constants)
        self._kept: dict[str, dict[Any, _Plan | None]] = {}
        self._never: set[str] = set()  # functions of which a call was not steady
        self._lock = threading.Lock()

    def run(self, func: Any, args: tuple[Any, ...]) -> Any:
        """The result of a function, by notes where there are some."""
        name = func.name
        notes = self._api.notes()
        if notes is not None:  # within a call that is being noted
            return self._execute(func, args, notes.watch)
        if name in self._never:
            return self._execute(func, args, None)
        tensors: list[Tensor] = []
        key: list[Any] = []
        if not _tell(args, key, tensors):
            return self._execute(func, args, None)
        kept = self._kept.setdefault(name, {})
        told = tuple(key)
        plan = kept.get(told)
        if plan is not None:
            return plan.run(args, tensors)
        if told in kept:
            return self._noted(func, args, tensors, told)
        with self._lock:
            if len(kept) >= _MAX_NOTED:
                del kept[next(iter(kept))]
            kept[told] = None
        return self._execute(func, args, None)

    def _noted(self, func: Any, args: tuple[Any, ...], tensors: list[Tensor], told: Any) -> Any:
        """Run a function and note what it does."""
        notes = _Notes(self, tensors)
        if not notes.inputs_differ:
            return self._execute(func, args, None)
        self._api.set_notes(notes)
        try:
            result = self._execute(func, args, notes.watch)
        finally:
            self._api.set_notes(None)
        try:
            plan = notes.plan(result, func.name)
        except NotSteady:
            with self._lock:
                self._never.add(func.name)
                self._kept.pop(func.name, None)
            return result
        with self._lock:
            self._kept.setdefault(func.name, {})[told] = plan
        return result


def _tell(values: Sequence[Any], key: list[Any], tensors: list[Tensor]) -> bool:
    """Add what a program can know of operands besides values; false for operands of other kinds."""
    for value in values:
        kind = type(value)
        if kind is Tensor:
            handle = value.__chandle__()
            if not handle or not value.is_contiguous():
                return False
            key.append(TensorForm.told(handle))
            key.append(value.data_ptr() & _ALIGNED)
            tensors.append(value)
        elif kind in _PLAIN:
            key.append(kind)
            key.append(value)
        elif kind is list or kind is tuple:
            key.append(len(value))
            if not _tell(value, key, tensors):
                return False
        else:
            return False
    return True


_PLAIN: Final = frozenset((int, float, bool, str, VMShape, type(None)))


class _Range(NamedTuple):
    """Memory that notes speak of: where it begins and ends, and which it is."""

    start: int
    end: int
    which: int


class _Launch(NamedTuple):
    """A launch, and the parts of memory that its pointers are."""

    name: str
    launch: Prepared
    pointers: tuple[tuple[int, int], ...]  # (memory, offset); memory -1: the offset is an address


class _Notes:
    """What a call does, while it does it.

    Memory has numbers: those of the inputs first, then what the call takes.
    """

    def __init__(self, plans: LaunchPlans, inputs: Sequence[Tensor]) -> None:
        self._plans = plans
        self._inputs = inputs
        self._ranges = [_range_of(tensor, n) for n, tensor in enumerate(inputs)]
        self._fixed = [_range_of(tensor, -1) for tensor in plans._constants]
        self._sizes: list[int] = []  # of the memory that is taken, by its number less the inputs'
        self._launches: list[_Launch] = []
        self._within = ""
        self._fault = False

    @property
    def inputs_differ(self) -> bool:
        """Whether an address tells which input it belongs to."""
        dev = self._plans._dev
        if any(tensor.device != dev for tensor in self._inputs):
            return False
        inputs, constants = 0, 0  # the ends of those so far
        for start, end, which in sorted((*self._ranges, *self._fixed)):
            if start < end and (start < inputs or (which >= 0 and start < constants)):
                return False
            if which >= 0:
                inputs = max(inputs, end)
            else:
                constants = max(constants, end)
        return True

    def watch(self, name: str, func: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """A call that the program makes."""
        if isinstance(func, Closure) or (name in _STEADY and BUILTINS.get(name) is func):
            result = func(*args)
            if name == "vm.builtin.alloc_storage" and result.device != self._plans._dev:
                self._fault = True
            return result
        dev = self._plans._dev
        if name == _WITH_SIZES and BUILTINS.get(name) is func:
            name = self._plans._machine.name_of(args[0])
        if name not in self._plans._launching or any(
            isinstance(arg, Tensor) and arg.device != dev for arg in args
        ):
            self._fault = True
        self._within = name
        return func(*args)

    # --- what the device's interface tells ---

    def took(self, address: int, size: int) -> None:
        """Memory was taken; what was given back before may be taken anew."""
        taken = _Range(address, address + size, len(self._inputs) + len(self._sizes))
        for n, other in enumerate(self._ranges):
            if other.start < taken.end and taken.start < other.end:
                if other.which < len(self._inputs):
                    self._fault = True
                if other[:2] == taken[:2]:
                    return  # the same piece
                self._ranges[n] = _Range(0, 0, other.which)  # the device has it back
        self._ranges.append(taken)
        self._sizes.append(size)

    def touched(self) -> None:
        """Values were copied, which notes do not do."""
        self._fault = True

    def launched(
        self, index: int, kernel: Any, kinds: Sequence[str], args: Sequence[Any],
        extents: dict[str, int],
    ) -> None:  # fmt: skip
        """A kernel was launched."""
        if index != self._plans._dev.index:
            self._fault = True
        if self._fault:
            return
        pointers = [address_of(arg) for kind, arg in zip(kinds, args) if kind == "handle"]
        try:
            found = tuple(self._part(pointer) for pointer in pointers)
        except NotSteady:
            self._fault = True
            return
        ready = self._plans._api.prepared(index, kernel, kinds, args, extents)
        self._launches.append(_Launch(self._within, ready, found))

    def _part(self, address: int) -> tuple[int, int]:
        """The memory that an address points into, and how far."""
        if address == 0:
            return -1, 0
        for start, end, which in reversed(self._ranges):
            if start <= address < end:
                return which, address - start
        if any(start <= address < end for start, end, _ in self._fixed):
            return -1, address
        raise NotSteady

    # --- the end ---

    def plan(self, result: Any, name: str) -> _Plan:
        """The notes of a call that gave `result`; NotSteady where they do not tell all of it."""
        if self._fault:
            raise NotSteady
        kept: set[int] = set()
        give = self._giver(result, kept)
        first = len(self._inputs)
        api, dev = self._plans._api, self._plans._dev
        return _Plan(api, dev, first, self._sizes, [n - first for n in sorted(kept)],
                     self._launches, give)  # fmt: skip

    def _giver(self, value: Any, kept: set[int]) -> _Giver:
        """A function that makes the result anew; adds the memory that goes along with it."""
        if type(value) in (tuple, list):
            makers = [self._giver(one, kept) for one in value]
            kind = type(value)
            return lambda tensors, owners: kind([make(tensors, owners) for make in makers])
        if type(value) in _PLAIN:
            return lambda tensors, owners: value
        if type(value) is not Tensor:
            raise NotSteady
        for n, one in enumerate(self._inputs):
            if one is value:
                return lambda tensors, owners: tensors[n]
        if any(value is constant for constant in self._plans._constants):
            return lambda tensors, owners: value
        if value.device != self._plans._dev or not value.is_contiguous():
            raise NotSteady
        which, offset = self._part(value.data_ptr())
        shape, dtype = tuple(map(int, value.shape)), DataType(str(value.dtype))
        if which < 0:
            return lambda tensors, owners: value
        if which < len(self._inputs):
            return lambda tensors, owners: unsafe_view(tensors[which], shape, dtype, offset)
        kept.add(which)
        number = which - len(self._inputs)
        form = TensorForm(self._plans._dev, shape, dtype)
        return lambda tensors, owners: form.over(owners[number][0], owners[number][1] + offset)


# (the inputs, what owns each piece of memory with its address) -> a result
_Giver = Callable[[Sequence[Tensor], dict[int, tuple[Tensor, int]]], Any]


class _Plan:
    """What a call does, ready to be done again."""

    def __init__(
        self, api: DeviceAPI, dev: Device, inputs: int, sizes: Sequence[int],
        kept: Sequence[int], launches: Sequence[_Launch], give: _Giver,
    ) -> None:  # fmt: skip
        self._api = api
        self._index = dev.index
        self._inputs = inputs
        self._sizes = tuple(sizes)
        self._kept = tuple(kept)
        self._passing = tuple(n for n in range(len(sizes)) if n not in kept)
        self._launches = tuple(launches)
        self._give = give
        self._lock = threading.Lock()  # launches share one array of arguments

    def run(self, args: tuple[Any, ...], tensors: Sequence[Tensor]) -> Any:
        """Take memory, launch, and make the result."""
        api, index = self._api, self._index
        at = [tensor.data_ptr() for tensor in tensors]
        taken: list[tuple[int, int]] = []
        owners: dict[int, tuple[Tensor, int]] = {}
        limit = current_limit()
        try:
            for size in self._sizes:
                taken.append(api.take(index, size))
            at += [address for address, _ in taken]
            stream = api.enter(index)
            at.append(0)  # memory -1: an offset is an address
            with self._lock:
                for name, launch, pointers in self._launches:
                    if limit is not None:
                        limit.check(name)
                    launch(stream, [at[which] + offset for which, offset in pointers])
            for number in self._kept:
                address, size = taken[number]
                owners[number] = (api.owner(index, address, size), address)
            return self._give(tensors, owners)
        finally:
            for number, (address, size) in enumerate(taken):
                if number not in owners:
                    api.give(index, address, size)


def _range_of(tensor: Tensor, which: int) -> _Range:
    start = int(tensor.data_ptr())
    nbytes = int(np.prod(tensor.shape, dtype=np.int64)) * DataType(str(tensor.dtype)).itemsize
    return _Range(start, start + nbytes, which)

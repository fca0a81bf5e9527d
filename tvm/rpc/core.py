"""The side of a session that has the objects: finds functions, calls them, keeps what they give."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tvm.error import RPCError, message
from tvm.ffi import get_global_func, library
from tvm.runtime._device import REMOTE_MASK, Device
from tvm.runtime._tensor import Tensor
from tvm.runtime.module import Module
from tvm.runtime.wire import Ref, decode, encode, error_parts


class Core:
    """Answers requests, which are lists: ["get", name], ["call", ref, args], ["drop", numbers]."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._numbers = 0
        self._find: Callable[[str], Any] = lambda name: get_global_func(name, allow_missing=True)
        self._held: Any = None

    def answer(self, request: bytes) -> bytes:
        """The answer to one request: [True, value], or [False, parts of an error]."""
        try:
            what, *operands = decode(request, self._take)
            does: dict[str, Callable[..., Any]] = {
                "get": self._get, "call": self._call, "drop": self._drop, "init": self._init,
            }  # fmt: skip
            return encode([True, does[what](*operands)], self._give)
        except Exception as err:
            return encode([False, error_parts(err)])

    def _get(self, name: str) -> Any:
        return self._find(name)

    def _call(self, func: Any, args: list[Any]) -> Any:
        return func(*args)

    def _drop(self, numbers: list[int]) -> None:
        for number in numbers:
            self._objects.pop(number, None)

    def _init(self, name: str, args: list[Any]) -> None:
        """Let this side be one that only passes on: to the session that a function makes."""
        make = get_global_func(name, allow_missing=True)
        if make is None:
            raise RPCError(
                message(
                    "start a session through another",
                    found=f"no function {name!r} that makes one",
                    legal="rpc.Connect with host, port, key and whether to log",
                )
            )
        self._held = make(*args)
        self._find = self._held._find

    # --- objects ---

    def _give(self, value: Any) -> Ref:
        self._numbers += 1
        self._objects[self._numbers] = value
        return Ref(self._numbers, json.dumps(_about(value)))

    def _take(self, ref: Ref) -> Any:
        if ref.number not in self._objects:
            raise RPCError(f"the session has no object {ref.number}")
        return self._objects[ref.number]


def _about(value: Any) -> dict[str, Any]:
    """What the other side is to know of an object."""
    if isinstance(value, Tensor):
        dev = plain_device(value.device)
        return {
            "kind": "tensor",
            "dtype": str(value.dtype),
            "shape": [int(extent) for extent in value.shape],
            "device": [dev.device_type, dev.index],
        }
    if isinstance(value, (Module, library().Module)):
        return {"kind": "module"}
    if callable(value):
        return {"kind": "function"}
    return {"kind": "object", "type": type(value).__name__}


def plain_device(dev: Device) -> Device:
    """A device as the side that has it calls it."""
    return Device(dev.dlpack_device_type() % REMOTE_MASK, dev.index)

"""The side of a session that has the objects, asked by hand."""

from __future__ import annotations

import json

import pytest

import tvm
from tvm.rpc.core import Core, plain_device
from tvm.runtime import Device
from tvm.runtime.wire import Ref, decode, encode

pytestmark = pytest.mark.cpu


def test_requests() -> None:
    core = Core()

    def ask(*request: object) -> list:
        return decode(core.answer(encode(list(request))))

    good, func = ask("get", "rpc.test.addone")
    assert good
    assert json.loads(func.kind) == {"kind": "function"}
    assert ask("call", func, [4]) == [True, 5]
    assert ask("get", "rpc.nobody") == [True, None]
    assert ask("drop", [func.number]) == [True, None]
    assert ask("call", func, [4])[0] is False
    assert ask("call", Ref(99), [])[1] == ["RPCError", "the session has no object 99"]
    assert ask("nonsense")[1][0] == "KeyError"
    assert decode(core.answer(b"nonsense"))[1][0] == "WireError"
    assert decode(core.answer(b""))[0] is False


def test_tensors_are_described() -> None:
    core = Core()
    about = json.loads(core._give(tvm.runtime.empty((2, 3), "int8")).kind)
    assert about == {"kind": "tensor", "dtype": "int8", "shape": [2, 3], "device": [1, 0]}
    assert json.loads(core._give(tvm.runtime.Module()).kind)["kind"] == "module"
    assert plain_device(Device(128 + 2, 1)) == tvm.cuda(1)

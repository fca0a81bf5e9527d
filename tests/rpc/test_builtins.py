"""What servers do for clients, called here."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.error import RPCError, ShapeError
from tvm.rpc import builtins

pytestmark = pytest.mark.cpu


def test_bytes_must_fill_the_tensor() -> None:
    target = tvm.runtime.empty((2,), "float32")
    builtins.write(target, np.array([1, 2], "float32").tobytes())
    assert target.numpy().tolist() == [1, 2]
    assert builtins.read(target) == np.array([1, 2], "float32").tobytes()
    with pytest.raises(ShapeError, match="5 bytes for a tensor of 8"):
        builtins.write(target, b"12345")


def test_only_some_methods_of_a_machine_can_be_called() -> None:
    with pytest.raises(RPCError, match="no method __init__ of a remote virtual machine"):
        builtins.vm_call(None, "__init__", [], {})  # type: ignore[arg-type]


def test_files() -> None:
    builtins.upload("some.txt", b"abc")
    assert builtins.download("some.txt") == b"abc"
    assert "some.txt" in builtins.listdir(".").split(",")
    assert builtins.workpath("some.txt").endswith("some.txt")
    builtins.remove("some.txt")
    with pytest.raises(RPCError, match="no such file"):
        builtins.download("some.txt")


def test_a_file_in_use_is_replaced_not_overwritten() -> None:
    builtins.upload("used.bin", b"old")
    with open(builtins.workpath("used.bin"), "rb") as used:
        builtins.upload("used.bin", b"new!")
        assert used.read() == b"old"
    assert builtins.download("used.bin") == b"new!"
    builtins.remove("used.bin")

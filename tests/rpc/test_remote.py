"""What stands here for objects there; tests/rpc/test_client.py uses all of it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tvm
from tvm import rpc
from tvm.error import RPCError
from tvm.rpc.remote import RemoteFunction, RPCModule, _sessions

pytestmark = pytest.mark.cpu


def test_sessions_do_not_mix() -> None:
    one, two = rpc.LocalSession(), rpc.LocalSession()
    assert one.cpu() != two.cpu()
    func = one.get_function("testing.echo")
    assert isinstance(func, RemoteFunction)
    assert func.type_key == "object.RPCObjectRef"
    with pytest.raises(RPCError, match="belongs to another session"):
        func(two.cpu())
    with pytest.raises(TypeError, match="that is not there"):
        func(tvm.runtime.empty((3,), device=two.cpu()))
    there = tvm.runtime.tensor(np.arange(3), one.cpu())
    np.testing.assert_array_equal(there.copyto(two.cpu()).numpy(), np.arange(3))


def test_a_session_ends_with_the_last_thing_of_it() -> None:
    sess = rpc.LocalSession()
    index = sess._tbl_index
    there = tvm.runtime.tensor(np.arange(3), sess.cpu())
    del sess
    gc.collect()
    assert there.numpy().tolist() == [0, 1, 2]
    del there
    gc.collect()
    assert index not in _sessions


def test_modules_import_each_other_there() -> None:
    make = tvm.get_global_func("runtime.CSourceModuleCreate")
    tvm.register_global_func("testing.module", lambda: make("// x", "c", []), override=True)
    sess = rpc.LocalSession()
    a, b = (sess.get_function("testing.module")() for _ in range(2))
    assert isinstance(a, RPCModule)
    a.import_module(b)
    assert a.function_names() == []

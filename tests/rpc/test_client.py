"""Sessions: with this process, with a server, and through one server with another."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import rpc
from tvm.error import RPCError, RPCSessionTimeoutError
from tvm.runtime.linker import get_cc
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@pytest.fixture(scope="module", params=["local", "server", "through another"])
def sess(request: pytest.FixtureRequest) -> Iterator[rpc.RPCSession]:
    if request.param == "local":
        yield rpc.LocalSession()
        return
    servers = [rpc.Server(key="x0", silent=True), rpc.Server(key="x1", silent=True)]
    further = None
    if request.param == "through another":
        further = ["rpc.Connect", "127.0.0.1", servers[1].port, "x1", False]
    yield rpc.connect(
        "127.0.0.1", servers[0].port, key="x0", session_constructor_args=further
    )
    for server in servers:
        server.terminate()


@T.prim_func
def add_one(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"global_symbol": "main"})
    for i in range(16):
        with T.block("add"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)


def test_functions(sess: rpc.RPCSession) -> None:
    assert sess.get_function("rpc.test.addone")(10) == 11
    assert sess.get_function("rpc.test.strcat")("abc", 11) == "abc:11"
    assert sess.get_function("rpc.test.runtime_str_concat")("a", "b") == "ab"
    assert sess.get_function("rpc.test.add_to_lhs")(10)(12) == 22
    echo = sess.get_function("testing.echo")
    for value in (1, -2.5, "xyz", None, True, tvm.DataType("int8")):
        assert echo(value) == value
    assert bytes(echo(bytearray(b"123"))) == b"123"
    assert echo([1, [2, "a"]]) == [1, [2, "a"]]


def test_devices_by_the_kinds_of_targets(sess: rpc.RPCSession) -> None:
    assert sess.device("llvm") == sess.cpu()


def test_what_goes_wrong_there(sess: rpc.RPCSession) -> None:
    with pytest.raises(RPCError, match=r"Error caught from RPC call:\n(?s:.*)ValueError: abc"):
        sess.get_function("rpc.test.except")("abc")
    with pytest.raises(AttributeError, match=r"the remote function 'rpc\.nobody'"):
        sess.get_function("rpc.nobody")
    with pytest.raises(AttributeError, match="Module has no function 'notexist'"):
        _ = sess.system_lib()["notexist"]
    with pytest.raises(TypeError, match="a ndarray that is not there"):
        sess.get_function("testing.echo")(np.zeros(3))
    with pytest.raises(TypeError, match="a function that is not there"):
        sess.get_function("testing.echo")(lambda x: x)
    with pytest.raises(TypeError, match="a Tensor that is not there"):
        sess.get_function("testing.echo")(tvm.runtime.empty((3,)))


def test_tensors(sess: rpc.RPCSession) -> None:
    ones = tvm.runtime.tensor(np.ones((3, 4)), sess.cpu(0))
    assert str(ones.device).startswith("remote")
    np.testing.assert_array_equal(ones.numpy(), np.ones((3, 4)))
    sess.get_function("rpc.test.remote_tensor_func")(ones)
    large = np.random.default_rng(0).random((541, 72))
    there, copied = tvm.runtime.tensor(large, sess.cpu()), tvm.runtime.empty(
        (541, 72), "float64", sess.cpu()
    )
    there.copyto(copied)
    np.testing.assert_array_equal(copied.numpy(), large)
    np.testing.assert_array_equal(copied.copyto(tvm.cpu()).numpy(), large)
    for dtype in ("bfloat16", "bool", "int64"):
        kind = tvm.runtime._tensor.numpy_dtype(dtype)
        values = np.array([0, 1, 1]).astype(kind)
        np.testing.assert_array_equal(tvm.runtime.tensor(values, sess.cpu()).numpy(), values)
    make = sess.get_function("rpc.test.remote_return_nd")
    array = make("get_arr")()
    assert array.shape == (10,)
    assert make("get_elem")(0) == make("get_arr_elem")(array, 0) == 0.0


def test_devices(sess: rpc.RPCSession) -> None:
    assert sess.cpu().exist
    assert not sess.hexagon().exist
    assert sess.cpu().device_name == tvm.cpu().device_name
    sess.cpu().sync()
    assert sess.device("cuda", 2).index == 2
    assert sess.cpu() == sess.device("cpu")
    assert "remote" in repr(sess.cpu())


def test_files(sess: rpc.RPCSession, tmp_path: Path) -> None:
    blob = bytearray(range(200))
    sess.upload(blob, "data.bin")
    assert sess.download("data.bin") == blob
    assert "data.bin" in sess.listdir(".")
    sess.remove("data.bin")
    assert "data.bin" not in sess.listdir("")
    (tmp_path / "other.txt").write_text("hello")
    sess.upload(str(tmp_path / "other.txt"))
    assert bytes(sess.download("other.txt")) == b"hello"
    with pytest.raises(RPCError, match="no such file"):
        sess.download("data.bin")
    with pytest.raises(RPCError, match="outside of the session's folder"):
        sess.upload(b"x", "../evil")
    with pytest.raises(ValueError, match="no name for them"):
        sess.upload(b"x")


@pytest.mark.skipif(get_cc() is None, reason="no C compiler")
@pytest.mark.parametrize("suffix", ["so", "tar", "o"])
def test_modules(sess: rpc.RPCSession, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"lib.{suffix}"
    tvm.compile(add_one, target="llvm").export_library(path)
    sess.upload(str(path))
    mod = sess.load_module(path.name)
    assert (mod.kind, mod.function_names()) == ("rpc", ["main"])
    given = np.arange(16, dtype="float32")
    a, b = tvm.runtime.tensor(given, sess.cpu()), tvm.runtime.empty((16,), device=sess.cpu())
    mod["main"](a, b)
    np.testing.assert_array_equal(b.numpy(), given + 1)
    mod(b, a)
    np.testing.assert_array_equal(a.numpy(), given + 2)
    assert len(mod.time_evaluator("main", sess.cpu(), number=2, repeat=3)(a, b).results) == 3
    with pytest.raises(AttributeError, match="no function 'nope'"):
        _ = mod["nope"]
    with pytest.raises(RPCError, match="ShapeError"):
        mod(a, tvm.runtime.empty((15,), device=sess.cpu()))
    linked = tmp_path / f"from_{suffix}.so"
    linked.write_bytes(sess.download_linked_module(path.name))
    here = tvm.runtime.tensor(np.zeros(16, "float32"))
    tvm.runtime.load_module(linked)["main"](tvm.runtime.tensor(given), here)
    np.testing.assert_array_equal(here.numpy(), given + 1)


def test_objects_are_dropped() -> None:
    sess = rpc.LocalSession()
    core = sess._sess._exchange.__self__
    kept = sess.get_function("rpc.test.add_to_lhs")
    value = tvm.runtime.tensor(np.zeros(3), sess.cpu())
    before = len(core._objects)
    for _ in range(5):
        kept(1)
        tvm.runtime.tensor(np.zeros(3), sess.cpu())
    gc.collect()
    assert value.numpy().sum() == 0
    assert len(core._objects) <= before + 1


def test_who_is_no_server() -> None:
    server = rpc.Server(key="right", silent=True)
    with pytest.raises(RPCError, match="its key is not 'wrong'"):
        rpc.connect("127.0.0.1", server.port, key="wrong")
    assert rpc.connect("127.0.0.1", server.port, key="right").cpu().exist
    server.terminate()
    with pytest.raises(RPCError, match=f"connect to 127.0.0.1:{server.port}"):
        rpc.connect("127.0.0.1", server.port, key="right")


def test_functions_that_make_sessions_are_known() -> None:
    server = rpc.Server(silent=True)
    with pytest.raises(RPCError, match=r"no function 'rpc\.NonExisting' that makes one"):
        rpc.connect("127.0.0.1", server.port, session_constructor_args=["rpc.NonExisting"])
    server.terminate()


def test_a_session_that_takes_too_long() -> None:
    server = rpc.Server(silent=True)
    sess = rpc.connect("127.0.0.1", server.port, session_timeout=3)
    with pytest.raises(RPCSessionTimeoutError, match="ended after 3 seconds"):
        sess.get_function("rpc.test.sleep")(600)
    assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
    server.terminate()


def test_a_server_that_dies() -> None:
    server = rpc.Server(silent=True)
    sess = rpc.connect("127.0.0.1", server.port)
    addone = sess.get_function("rpc.test.addone")
    server.terminate()
    with pytest.raises(RPCError, match="the server has closed the session"):
        addone(1)

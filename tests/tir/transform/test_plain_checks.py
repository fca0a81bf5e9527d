"""The entry of functions that take tensors, as `MakePackedAPI` writes it."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.interp import run_packed
from tvm.tir.transform import BindTarget, MakePackedAPI

pytestmark = pytest.mark.pure


@T.prim_func
def scaled(a: T.handle, f: T.float32, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n * 4,), "float32")
    for i, j in T.grid(n, 4):
        B[i * 4 + j] = A[i, j] * f


def packed(func: tir.PrimFunc, target: str = "llvm") -> IRModule:
    return MakePackedAPI()(BindTarget(Target(target, host="llvm"))(IRModule.from_expr(func)))


def lines(func: tir.PrimFunc, target: str = "llvm") -> list[str]:
    (made,) = packed(func, target).functions.values()
    return [line.strip() for line in made.script().splitlines()]


def test_assertions_enclose_what_follows() -> None:
    stmt = packed(scaled)["scaled"].body
    names, texts = [], []
    while not isinstance(stmt, tir.AttrStmt):
        if isinstance(stmt, tir.LetStmt):
            names.append(stmt.var.name)
        elif isinstance(stmt, tir.AssertStmt):
            texts.append(str(stmt.message.value))
        else:
            break
        stmt = stmt.body
    assert isinstance(stmt, tir.SeqStmt)  # the body, and the code of success
    assert names[:6] == ["a_type_index", "f_type_index", "b_type_index", "a", "f", "b"]
    assert {"n", "A", "B", "dev_id"} <= set(names)
    assert texts[:3] == [
        "scaled: num_args should be 3", "scaled: args pointer is NULL",
        "scaled: Expect arg[0] to be pointer",
    ]  # fmt: skip
    for text in (
        "scaled.a is expected to have non-NULL DLTensor* pointer",
        "scaled.a.ndim is expected to equal 2",
        "scaled.a.dtype is expected to be float32",
        "scaled.b.strides: expected to be compact array",
        "scaled.b is expected to have non-NULL data pointer",
    ):
        assert text in texts
    assert any(
        text.startswith("Argument scaled.a.shape[1] has an unsatisfied constraint: 4 == ")
        for text in texts
    )
    assert not any("a.shape[0]" in text for text in texts), "it defines n"


@pytest.mark.parametrize(("target", "kind"), [("llvm", 1), ("cuda -arch=sm_80", 2)])
def test_the_body_knows_its_device(target: str, kind: int) -> None:
    text = "\n".join(lines(scaled, target))
    assert f'T.attr("default", "device_type", {kind})' in text
    assert 'T.attr("default", "device_id", dev_id)' in text
    assert f"assert {kind} == T.tvm_struct_get(a, 0, 10, \"int32\")" in text


def test_strides_and_offsets() -> None:
    @T.prim_func
    def func(a: T.handle):
        n, s, o = T.int32(), T.int32(), T.int32()
        A = T.match_buffer(a, (n, 4), "int8", strides=(s, 1), elem_offset=o)
        A[0, 0] = T.int8(1)

    text = "\n".join(lines(func))
    assert "s: T.int32 = T.Cast(\"int32\", " in text
    assert "Argument func.a.strides[1] has an unsatisfied constraint: 1 == " in text
    assert "compact" not in text


def test_it_runs() -> None:
    mod = packed(scaled)
    given = np.arange(12, dtype="float32").reshape(3, 4)
    out = np.zeros(12, "float32")
    run_packed(mod, given, 2.0, out, name="scaled")
    np.testing.assert_array_equal(out, given.ravel() * 2)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (np.zeros((3, 5), "float32"), np.zeros(12, "float32"), r"scaled\.a\.shape\[1\]"),
        (np.zeros((3, 4), "float64"), np.zeros(12, "float32"), r"scaled\.a\.dtype is expected"),
        (np.zeros((3, 4), "float32"), np.zeros(11, "float32"), r"scaled\.b\.shape\[0\]"),
        (np.zeros(12, "float32"), np.zeros(12, "float32"), r"scaled\.a\.ndim is expected"),
        (np.zeros((4, 3), "float32").T, np.zeros(12, "float32"), "expected to be compact array"),
    ],
)
def test_what_is_wrong_is_named(a: np.ndarray, b: np.ndarray, words: str) -> None:
    with pytest.raises(Exception, match=words):
        run_packed(packed(scaled), a, 2.0, b, name="scaled")


def test_of_many_tensors_checks_follow_one_another() -> None:
    buffers = [tir.decl_buffer((4, 4), "float32", f"A{i}") for i in range(40)]
    store = tir.BufferStore(buffers[0], T.float32(1), [0, 0])
    func = tir.PrimFunc(buffers, store).with_attr("global_symbol", "many")
    mod = tir.transform.Simplify()(packed(func))
    given = [np.zeros((4, 4), "float32") for _ in buffers]
    run_packed(mod, *given, name="many")
    assert given[0][0, 0] == 1

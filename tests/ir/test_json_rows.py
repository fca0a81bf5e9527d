"""Rows of JSON: what caches keep of a program is all of it."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm import tir
from tvm.ir import HostTensor, save_json, structural_equal
from tvm.ir.exact import exact_digest
from tvm.ir.json_rows import key_text, load_apart, save_apart
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    "value",
    [
        1, 1.5, True, None, "text", float("inf"), float("nan"), (1, (2, "x")), {"a": (1,)}, [[3]],
        tir.IntImm("int64", 3), tvm.ir.PrimType("float16"), tvm.DataType("int8"),
        tvm.target.Target("llvm -mcpu=haswell"),
    ],
)  # fmt: skip
def test_values_round_trip(value: object) -> None:
    func = copy_func().with_attr("k", value)
    text, tensors = save_apart(func)
    loaded = load_apart(text, tensors)
    assert structural_equal(loaded, func)
    assert save_apart(loaded) == (text, [])
    assert len(text) < len(save_json(func)) / 2


def test_all_of_a_program() -> None:
    """Names, spans, and what is shared."""
    x = tir.Var("x", "int32", tvm.ir.Span("file.py", 3, 3, 1, 9))
    func = copy_func().with_attr("k", x + x)
    loaded = load_apart(save_apart(func)[0], ())
    assert exact_digest(loaded) == exact_digest(func)
    assert loaded.attrs["k"].a is loaded.attrs["k"].b


def test_tensors_lie_apart() -> None:
    data = HostTensor(np.arange(6, dtype="float16").reshape(2, 3))
    mod = tvm.IRModule({"f": copy_func().with_attr("data", data)}, attrs={"a": 1})
    text, tensors = save_apart(mod)
    assert len(tensors) == 1
    raw = [tensor.numpy().tobytes() for tensor in tensors]
    assert structural_equal(load_apart(text, raw), mod)


def test_a_key_names_functions() -> None:
    """What a global variable knows of its type changes as passes run."""
    plain, typed = tvm.ir.GlobalVar("g"), tvm.ir.GlobalVar("g")
    typed.struct_info_ = R.Tensor((2,), "float32")
    assert key_text((plain, 1)) == key_text((typed, 1))
    assert key_text((plain, 1)) != key_text((tvm.ir.GlobalVar("h"), 1))


def test_deep_programs_need_no_recursion() -> None:
    total: tir.PrimExpr = tir.Var("x", "int32")
    for k in range(3000):
        total = total + k
    assert structural_equal(load_apart(save_apart(total)[0], ()), total, map_free_vars=True)

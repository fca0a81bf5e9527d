"""What emitters of code for a host ask of the program."""

from __future__ import annotations

import pytest

import tvm
from tests.backend.llvm.kernel import i32, kernel, packed
from tvm.backend.host_functions import (
    Signature,
    callee_of,
    constant_data,
    error_words,
    host_functions,
    own_memory_is_apart,
    refuse_threads,
    signature_of,
)
from tvm.error import TVMError
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.type import PrimType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.op import builtin

pytestmark = pytest.mark.pure
B = decl_buffer((4,), "int32", "b")
STORE = s.BufferStore(B, i32(1), [i32(0)])


def signature(func: PrimFunc, name: str = "f") -> Signature:
    return signature_of(
        GlobalVar(name), func, param_type=lambda param: str(param.dtype), value_type=str,
        spelled=lambda name: name.replace(".", "_"),
    )  # fmt: skip


def test_signatures() -> None:
    private = PrimFunc([B.data], STORE)
    assert signature(private, "a.b") == Signature("a_b", "int32", ("handle",), private=True)
    public = signature(kernel([B], STORE))
    assert (public.name, public.private, public.fallible) == ("kernel", False, True)
    value = PrimFunc([], s.Evaluate(builtin.ret(i32(1))), PrimType("int64"))
    assert (signature(value).result, signature(value).fallible) == ("int64", False)
    made = signature(packed("g", 1, lambda b: STORE, "int32").with_attr("global_symbol", "g"))
    assert (made.name, made.packed, made.private) == ("__tvm_ffi_g", True, False)
    assert made.fallible


def test_functions_have_to_be_lowered() -> None:
    func = PrimFunc([B.data], STORE)
    (found,) = host_functions(IRModule({"f": func}), "C code")
    assert found[1] is func
    param = e.Var("p", "handle")
    whole = PrimFunc([param], STORE, None, {param: B})
    with pytest.raises(TVMError, match="C code for f\n  found: parameters that are still buffers"):
        host_functions(IRModule({"f": whole}), "C code")
    graph = tvm.relax.Function([], tvm.relax.Tuple([]), is_pure=True)
    with pytest.raises(TVMError, match="machine code for g\n  found: Function"):
        host_functions(IRModule({"g": graph}), "machine code")


def test_memory_is_apart_unless_the_function_says_otherwise() -> None:
    func = PrimFunc([B.data], STORE)
    asked = [own_memory_is_apart(func.with_attr("tir.noalias", flag)) for flag in (True, False)]
    assert [own_memory_is_apart(func), *asked] == [True, True, False]


def test_calls_name_a_function_of_the_module() -> None:
    known = {"f": Signature("f", "int32", ("int32",))}
    assert callee_of(known, "f", (i32(1),), "main") is known["f"]
    with pytest.raises(TVMError, match="call of g\n  found: no such function in the module"):
        callee_of(known, "g", (), "main")
    with pytest.raises(TVMError, match="call of f with 0 arguments\n  found: a function of 1"):
        callee_of(known, "f", (), "main")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (e.StringImm("ShapeError: main: {}"), ("ShapeError", "main: {}")),
        (e.StringImm("plain words"), ("TVMError", "plain words")),
        (i32(1), ("TVMError", "assertion failed")),
    ],
)
def test_errors_have_a_kind_words_and_values(text: e.PrimExpr, wanted: tuple[str, str]) -> None:
    assert error_words(text) == (*wanted, ())
    found = error_words(builtin.tvm_tuple(text, i32(7)))
    assert found[:2] == wanted
    assert [value.value for value in found.values] == [7]


def test_threads_and_constants_elsewhere_are_refused() -> None:
    i = e.Var("i", "int32")
    axis = e.IterVar((0, 4), i, e.IterVar.ThreadIndex, "threadIdx.x")
    refuse_threads(s.For(i, 0, 4, s.ForKind.SERIAL, STORE), "C code", "main")
    refuse_threads(s.AttrStmt(B.data, "volatile_scope", i32(1), STORE), "C code", "main")
    with pytest.raises(TVMError, match="C code for loop i\n  found: it is bound to GPU threads"):
        refuse_threads(s.For(i, 0, 4, s.ForKind.THREAD_BINDING, STORE, axis), "C code", "main")
    with pytest.raises(TVMError, match="C code for a loop bound to i"):
        refuse_threads(s.AttrStmt(axis, "thread_extent", 4, STORE), "C code", "main")
    data = e.Var("data", B.data.type_annotation)
    with pytest.raises(TVMError, match="constant data\n  found: it names an entry"):
        constant_data(s.AllocateConst(data, "int32", [4], 3, STORE))

"""Free variables."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm import tir
from tvm.error import CheckError
from tvm.ir import PointerType, PrimType, Range
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis import undefined_vars
from tvm.tir.analysis.undefined_vars import free_variables

pytestmark = pytest.mark.pure
x, y, z = (e.Var(n, "int32") for n in "xyz")


def test_expressions() -> None:
    assert undefined_vars(x + y * x) == [x, y]
    assert undefined_vars(x + y, [x]) == [y]
    assert undefined_vars(e.Let(x, y, x + z)) == [y, z]
    axis = e.IterVar(Range(0, z), x, e.IterVar.CommReduce)
    assert undefined_vars(tir.sum(x + y, axis)) == [z, y]


def test_statements() -> None:
    a = tir.decl_buffer((z,), name="a")
    loop = s.For(x, 0, y, 0, s.BufferStore(a, 0.0, [x]))
    assert undefined_vars(loop) == [y, a.data, z]
    assert undefined_vars(s.LetStmt(y, z, loop)) == [z, a.data]
    thread = e.IterVar(None, "threadIdx", e.IterVar.ThreadIndex, "threadIdx.x")
    launched = s.AttrStmt(thread, "thread_extent", y, s.Evaluate(thread.var + x))
    assert undefined_vars(launched) == [y, x]


def test_functions() -> None:
    assert undefined_vars(matmul) == []
    names = {var.name for var in undefined_vars(matmul.body)}
    assert names == {b.data.name for b in matmul.buffer_map.values()}


def test_what_is_said_of_a_fragment_is_no_use_of_it() -> None:
    f = e.Var("f", PointerType(PrimType("float16"), "wmma.matrix_a"))
    inner = s.Allocate(f, "float16", [256], tir.const(True, "bool"), s.Evaluate(f))
    assert undefined_vars(s.AttrStmt(f, "fragment_shape", "16, 16, 16", inner)) == []
    assert undefined_vars(s.AttrStmt(f, "fragment_shape", "16, 16, 16", s.Evaluate(f))) == [f]


def test_each_variable_is_defined_once() -> None:
    used = s.Evaluate(x)
    twice = s.SeqStmt([s.LetStmt(x, y, used), s.LetStmt(x, z, used)])
    nested = s.LetStmt(x, y, s.For(x, 0, z, 0, used))
    late = s.SeqStmt([used, s.For(x, 0, y, 0, used)])
    for program, words in ((twice, "defined"), (nested, "defined"), (late, "used before")):
        with pytest.raises(CheckError, match=f"variable x has .*been {words}"):
            undefined_vars(program)
    with pytest.raises(CheckError, match="already been defined"):
        undefined_vars(s.LetStmt(x, y, used), [x])
    assert free_variables(twice) == [y, z]
    assert undefined_vars(s.SeqStmt([s.LetStmt(x, y, used), used])) == [y]
    assert undefined_vars(s.For(x, 0, x, 0, used)) == []

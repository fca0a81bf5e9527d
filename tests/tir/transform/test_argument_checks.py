import pytest

from tvm import tir
from tvm.script import tir as T
from tvm.tir.functor import walk
from tvm.tir.transform.argument_checks import ArgumentChecks

pytestmark = pytest.mark.pure


@T.prim_func
def func(a: T.handle, B: T.Buffer((4, 2), "int8"), k: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    A[0] = k


def checks():
    made = ArgumentChecks("func", tir.Var("args", "handle"), func.params, dict(func.buffer_map))
    made.check_count(tir.Var("num_args", "int32"))
    made.bind_all()
    return made


def test_signature_for_people():
    assert checks().signature() == "func(a: float32[n], B: int8[4, 2], k: float32)"


def test_everything_is_defined_around_the_body():
    inside = tir.Evaluate(tir.Var("mark"))
    body = checks().around(inside)
    defined = {n.var for n in walk(body) if isinstance(n, tir.LetStmt)}
    assert {b.data for b in func.buffer_map.values()} <= defined
    assert {"k", "n", "A_handle", "B_handle"} <= {var.name for var in defined}
    assert any(n is inside for n in walk(body))


def test_checks_come_before_what_relies_on_them():
    """The first statement checks the number of arguments, whatever follows reads them."""
    first = checks().around(tir.Evaluate(0))
    assert isinstance(first.seq[0], tir.AssertStmt)
    assert [n.name for n in walk(first.seq[0].condition) if isinstance(n, tir.Var)] == ["num_args"]


def test_names_of_checks_do_not_nest_by_parameter():
    """What is read of a tensor only to be checked is unknown to the next: programs stay shallow."""

    def depth(count: int) -> int:
        buffers = {tir.Var(f"p{n}", "handle"): tir.decl_buffer((2, 3, 4, 5)) for n in range(count)}
        made = ArgumentChecks("func", tir.Var("args", "handle"), list(buffers), buffers)
        made.bind_all()
        deepest, todo = 0, [(made.around(tir.Evaluate(0)), 1)]
        while todo:
            stmt, level = todo.pop()
            deepest = max(deepest, level)
            below = stmt.seq if isinstance(stmt, tir.SeqStmt) else [getattr(stmt, "body", None)]
            todo += [(inner, level + 1) for inner in below if inner is not None]
        return deepest

    assert depth(40) - depth(20) == 20 * 5  # kind, checks, address, checks, data

"""Rules that programs keep."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm import tir
from tvm.ir import IRModule, Range
from tvm.tir import decl_buffer
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis import verify_well_formed
from tvm.tir.function import PrimFunc

pytestmark = pytest.mark.pure
i, j, n = (e.Var(name, "int32") for name in "ijn")


def func(body: s.Stmt, *params: e.Var) -> PrimFunc:
    return PrimFunc(list(params), body)


def loop(var: e.Var, body: s.Stmt) -> s.Stmt:
    return s.For(var, 0, 4, 0, body)


def test_well_formed() -> None:
    assert verify_well_formed(matmul)
    assert verify_well_formed(IRModule({"main": matmul}))
    a = decl_buffer((n, n * 2), name="a")
    handle = e.Var("a", "handle")
    store = s.BufferStore(a, 0.0, [i, i])
    assert verify_well_formed(PrimFunc([handle], loop(i, store), None, {handle: a}))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (s.Evaluate(i), "Invalid use of undefined variable i at func.body$"),
        (s.SeqStmt([loop(i, s.Evaluate(i)), s.Evaluate(i)]),
         r"undefined variable i at .* is no longer in-scope\."),
        (loop(i, loop(i, s.Evaluate(i))),
         "ill-formed, due to multiple nested definitions of variable i"),
        (s.SeqStmt([loop(i, s.Evaluate(i)), loop(i, s.Evaluate(i))]),
         "due to multiple definitions of variable i"),
        (loop(i, s.BufferStore(decl_buffer((4,), name="b"), 0.0, [i])), "undefined variable b"),
        (s.Evaluate(e.Let(i, n, i)), "undefined variable n"),
    ],
)  # fmt: skip
def test_ill_formed(body, text) -> None:
    with pytest.raises(ValueError, match=text):
        verify_well_formed(func(body))
    assert not verify_well_formed(func(body), assert_mode=False)


def test_one_variable_in_two_functions() -> None:
    one = func(loop(i, s.Evaluate(i)))
    with pytest.raises(ValueError, match="multiple definitions of variable i"):
        verify_well_formed(IRModule({"f": one, "g": func(loop(i, s.Evaluate(i)))}))


def test_blocks_use_their_own_variables() -> None:
    axis = e.IterVar(Range(0, 4), "v")
    inside = s.Block([axis], [], [], "b", s.Evaluate(i))
    body = loop(i, s.BlockRealize([i], True, inside))
    with pytest.raises(ValueError, match="Loop iterator var i is defined outside of block b"):
        verify_well_formed(func(body))
    opaque = s.Block([], [], [], "b", s.Evaluate(j))
    assert verify_well_formed(func(loop(j, s.BlockRealize([], True, opaque))))


def test_thread_axes() -> None:
    def launch(var: e.Var, body: s.Stmt) -> s.Stmt:
        axis = e.IterVar(Range(0, 4), var, e.IterVar.ThreadIndex, "threadIdx.x")
        return s.AttrStmt(axis, "thread_extent", 4, body)

    again = s.SeqStmt([launch(i, s.Evaluate(i)), launch(i, s.Evaluate(i))])
    assert verify_well_formed(func(again))
    other = s.SeqStmt([launch(i, s.Evaluate(i)), launch(j, launch(i, s.Evaluate(i + j)))])
    assert verify_well_formed(func(other))
    two = IRModule({"a": func(launch(i, s.Evaluate(i))), "b": func(launch(i, s.Evaluate(i)))})
    with pytest.raises(ValueError, match="multiple definitions of variable i"):
        verify_well_formed(two)


def test_a_bound_view_defines_its_place() -> None:
    source = decl_buffer((4, 4), name="A")
    view = decl_buffer((4, 4), name="S", scope="shared", offset_factor=16)
    use = s.Evaluate(view.access_ptr("r"))
    region = tir.call_intrin("handle", "tir.tvm_tuple", 0, 4, 0, 4)
    bound = s.AttrStmt((view, source), "buffer_bind_scope", region, use)
    handle = e.Var("a", "handle")
    program = PrimFunc([handle], bound, buffer_map={handle: source})
    assert verify_well_formed(program)
    with pytest.raises(ValueError, match="undefined variable S"):
        verify_well_formed(program.with_body(use))


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="legal: a PrimFunc or an IRModule"):
        verify_well_formed(3)

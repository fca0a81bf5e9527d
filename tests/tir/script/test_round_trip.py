"""What is printed reads back as the same program, and prints the same again."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from tests.covering import few
from tests.tir.script.random_programs import Programs
from tvm import tir
from tvm.error import DiagnosticError
from tvm.ir import assert_structural_equal
from tvm.script import from_source

pytestmark = pytest.mark.pure


def check(func: Any) -> None:
    text = func.script(show_meta=True)
    again = from_source(text, check_well_formed=False)
    assert_structural_equal(func, again)
    assert again.script(show_meta=True) == text


@pytest.mark.parametrize("seed", few(range(60), 30))
def test_random_programs(seed: int) -> None:
    programs = Programs(seed)
    for _ in range(5):
        check(programs.function())


@pytest.mark.long
def test_many_random_programs() -> None:
    for seed in range(1000, 3000):
        check(Programs(seed).function())


def _mutated(text: str, rng: random.Random) -> str:
    tokens = re.findall(r"\s+|\w+|.", text, re.S)
    odd = ["0", "x", "None", "(", ")", "T.foo", "[1]", "'a'", "lambda: 0", "-1", "A", " = ", "\n"]
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(tokens))
        other = tokens[rng.randrange(len(tokens))]
        tokens[at] = rng.choice(["", other, tokens[at] + other, rng.choice(odd)])
    return "".join(tokens)


def _mistake(text: str) -> str | None:
    """What is said about a wrong program; None for one that is right."""
    try:
        from_source(text)
    except DiagnosticError as error:
        return str(error)
    return None


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_wrong_programs_give_diagnostics_with_a_place() -> None:
    refused = 0
    for seed in range(150):
        rng = random.Random(seed)
        text = _mutated(Programs(seed % 50).function().script(), rng)
        said = _mistake(text)
        if said is not None:
            assert re.search(r" --> <str>:\d+:\d+\n[^^]*\^", said)
            refused += 1
    assert refused >= 125


CHAINS = {
    "left": lambda a, e, k: e + a[k % 16],
    "right": lambda a, e, k: a[k % 16] * e,
    "calls": lambda a, e, k: tir.max(a[k % 16], e),
    "mixed": lambda a, e, k: tir.Cast("float32", tir.min(e - a[0], a[1])),
}


@pytest.mark.parametrize("name", CHAINS)
def test_expressions_of_any_depth(name: str) -> None:
    a = tir.decl_buffer((16,), "float32", "A")
    expr: Any = a[0]
    for k in range(2000):
        expr = CHAINS[name](a, expr, k)
    check(tir.PrimFunc([a], tir.BufferStore(a, expr, [0]), attrs={"global_symbol": "main"}))


def test_scopes_of_any_depth() -> None:
    body: Any = tir.Evaluate(0)
    for k in range(2000):
        body = tir.LetStmt(tir.Var(f"x{k}", "int32"), k, body)
    check(tir.PrimFunc([], body, attrs={"global_symbol": "main"}))


def test_strides_and_offsets_of_another_type_than_the_shape() -> None:
    n, stride, offset = tir.Var("n", "int64"), tir.Var("s", "int32"), tir.SizeVar("o", "int64")
    handle = tir.Var("a", "handle")
    buffer = tir.decl_buffer((n, 4), strides=[stride, 1], elem_offset=offset, name="A")
    func = tir.PrimFunc([handle], tir.Evaluate(buffer[n, 0]), buffer_map={handle: buffer})
    func = func.with_attr("global_symbol", "main")
    assert "n, s, o = T.int64(), T.int32(), T.int64(is_size_var=True)" in func.script()
    check(func)


def test_types_of_users() -> None:
    x = tir.Var("x", "custom[Posit]16")
    value = tir.Add(x, tir.FloatImm("custom[Posit]16", 1.5))
    handle, buffer = tir.Var("b", "handle"), tir.decl_buffer((4,), "custom[Posit]16", name="B")
    body = tir.LetStmt(tir.Var("y", "custom[Posit]16"), value, tir.BufferStore(buffer, value, [0]))
    func = tir.PrimFunc([x, handle], body, buffer_map={handle: buffer})
    check(func.with_attr("global_symbol", "main"))


@pytest.mark.parametrize(
    "body",
    [
        # a buffer that no statement defines, with an offset of its own
        """    S = T.Buffer((4, 4), scope="shared", offset_factor=16)
    T.attr([S, A], "buffer_bind_scope", T.tvm_tuple(0, 4, 0, 4))
    T.evaluate(S.access_ptr("r"))""",
        """    S = T.Buffer((4, 4), strides=("s0", "s1"), elem_offset=T.int32())
    T.evaluate(S[1, 2] + S.strides[0])""",
        "    A[5:5 + T.vscale() * 6 * 2:2] = T.broadcast(T.float32(1), T.vscale() * 6)",
        '    p = T.handle("void")\n    T.evaluate(p)',
    ],
)
def test_what_is_declared_where_it_is_used(body: str) -> None:
    text = f'@T.prim_func\ndef f(A: T.Buffer((256,), "float32")):\n{body}\n'
    func = from_source(text, check_well_formed=False)
    again = from_source(func.script(), check_well_formed=False)
    assert_structural_equal(func, again, map_free_vars=True)

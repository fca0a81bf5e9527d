"""Functions as values become data: same results, and nothing of higher order is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.relay import transform

pytestmark = pytest.mark.pure

LISTS = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @id[A](%x: A) -> A { %x }
def @inc(%x: int32) -> int32 { add(%x, 1) }
def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
}
def @fold[A, B](%f: fn(A, B) -> A, %z: A, %xs: List[B]) -> A {
  match (%xs) { Cons(%x, %rest) => @fold(%f, %f(%z, %x), %rest), Nil => %z }
}
def @compose[A, B, C](%f: fn(B) -> C, %g: fn(A) -> B) -> fn(A) -> C {
  fn(%x: A) -> C { %f(%g(%x)) }
}
"""

PROGRAMS = {
    "captured": "@fold(fn (%a: int32, %b: int32) -> int32 { add(multiply(%a, %n), %b) }, 1, %xs)",
    "global": "@fold(fn (%a: int32, %b: int32) -> int32 { add(%a, %b) }, 0, @map(@inc, %xs))",
    "result": "let %f = @compose(@inc, @compose(@inc, @id)); %f(%n)",
    "in data": """let %fs = @map(fn (%x: int32) -> fn(int32) -> int32 {
                    fn (%y: int32) -> int32 { subtract(multiply(%x, %n), %y) } }, %xs);
                  @fold(fn (%a: int32, %f: fn(int32) -> int32) -> int32 { %f(%a) }, 1, %fs)""",
    "recursive": """let %g = fn (%x: int32) -> int32 {
                      if (equal(%x, 0)) { %n } else { add(2, %g(subtract(%x, 1))) } };
                    @fold(fn (%a: int32, %b: int32) -> int32 { add(%a, %g(%b)) }, 0, %xs)""",
    "two types": """let %i = fn[A](%x: A) -> A { %x };
                    let %ys = @map(%i, %xs);
                    %i(@fold(fn (%a: int32, %b: int32) -> int32 { add(%a, %b) }, 0, %ys))""",
    "chosen": """let %f = if (less(%n, 3)) { @inc } else {
                   fn (%x: int32) -> int32 { multiply(%x, %n) } }; %f(7)""",
}


def run(mod: Any, *args: Any) -> Any:
    return relay.create_executor("debug", mod).evaluate()(*args).numpy().item()


def is_first_order(mod: Any, func: Any) -> bool:
    """No parameter, result or argument in what `func` reaches is a function, or has open types."""
    done, waiting = set(), [func]
    while waiting:
        func = waiting.pop()
        inside: list[Any] = []
        relay.analysis.post_order_visit(func.body, inside.append)
        calls = [e for e in inside if isinstance(e, relay.Call)]
        kinds = [func.ret_type, *[p.checked_type for p in func.params]]
        kinds += [arg.checked_type for call in calls for arg in call.args]
        if func.type_params or any(isinstance(kind, relay.FuncType) for kind in kinds):
            return False
        names = {e.name_hint for e in inside if isinstance(e, relay.GlobalVar)}
        waiting += [mod[name] for name in names - done]
        done.update(names)
    return True


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_results(name: str) -> None:
    text = (f"{LISTS}def @main(%n: int32) -> int32 {{ let %xs = Cons(2, Cons(%n, Nil));\n"
            f"{PROGRAMS[name]} }}")  # fmt: skip
    mod = transform.InferType()(relay.parse(text))
    wanted = [run(mod, np.int32(n)) for n in (2, 5)]
    mod["main"] = transform.Defunctionalization(mod["main"], mod)
    made = transform.InferType()(mod)
    assert is_first_order(made, made["main"])
    assert [run(made, np.int32(n)) for n in (2, 5)] == wanted


def test_shared_values_stay_shared() -> None:
    x = relay.var("x", shape=(), dtype="int32")
    y = x
    for _ in range(60):
        y = relay.add(y, y)
    mod = transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], y)))
    made = transform.Defunctionalization(mod["main"], mod)
    assert tvm.ir.structural_equal(made, mod["main"])


def test_functions_from_outside_are_refused() -> None:
    mod = transform.InferType()(relay.parse(
        '#[version = "0.0.5"]\ndef @main(%f: fn(int32) -> int32) -> int32 { %f(1) }'))  # fmt: skip
    with pytest.raises(TVMError, match="takes and gives tensors"):
        transform.Defunctionalization(mod["main"], mod)
    mod = transform.InferType()(relay.parse(LISTS))
    with pytest.raises(TVMError, match="type parameters"):
        transform.Defunctionalization(mod["id"], mod)

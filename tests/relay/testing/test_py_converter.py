"""Programs with functions, references and data as values, run from Python."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue, RefValue
from tvm.relay.testing import run_as_python, to_python
from tvm.runtime.container import ADT

pytestmark = pytest.mark.pure
ONE, TWO = relay.const(1), relay.const(2)


def test_tuples() -> None:
    found = run_as_python(relay.Tuple([ONE, relay.Tuple([TWO]), relay.Tuple([])]))
    assert isinstance(found, ADT)
    assert isinstance(found[1], ADT)
    assert [found[0].numpy(), found[1][0].numpy(), len(found[2])] == [1, 2, 0]


def test_references() -> None:
    ref, pair = relay.Var("r"), relay.Tuple([ONE, TWO])
    made = run_as_python(relay.RefCreate(pair))
    assert isinstance(made, RefValue)
    assert [field.numpy() for field in made.value] == [1, 2]
    written = relay.Let(relay.Var("_"), relay.RefWrite(ref, TWO), relay.RefRead(ref))
    assert run_as_python(relay.Let(ref, relay.RefCreate(ONE), written)).numpy() == 2


def test_data_and_functions_of_a_module() -> None:
    mod = tvm.IRModule()
    prelude = relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    found = run_as_python(cons(ONE, nil()), mod)
    assert isinstance(found, ConstructorValue)
    assert found.tag == cons.tag
    assert found.fields[0].numpy() == 1
    assert run_as_python(prelude.sum(cons(ONE, cons(TWO, nil()))), mod).numpy() == 3


def test_functions_and_choices() -> None:
    x = relay.var("x", shape=(), dtype="int32")
    assert run_as_python(relay.Function([x], x + x))(4).numpy() == 8
    assert run_as_python(relay.If(relay.const(False), ONE, TWO)).numpy() == 2
    parts = run_as_python(relay.split(relay.const(np.arange(4)), 2).astuple())
    assert [part.numpy().tolist() for part in parts] == [[0, 1], [2, 3]]


def test_programs_of_python_stand_by_themselves() -> None:
    mod, (x, callee) = tvm.IRModule(), (relay.var("x", "int32"), relay.GlobalVar("twice"))
    mod[callee] = relay.Function([x], relay.add(x, x))
    for expr in (relay.Tuple([callee(TWO), ONE]), relay.Tuple([relay.add(TWO, TWO), ONE])):
        names: dict[str, object] = {}
        exec(compile(to_python(expr, mod), "<made>", "exec"), names)
        found = names["_py_out"]
        assert isinstance(found, ADT)
        assert [field.numpy() for field in found] == [4, 1]

"""Names of Relay's words where older scripts look for them."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.ir import adt

pytestmark = pytest.mark.pure


def test_words_are_those_of_relay() -> None:
    assert adt.Constructor is relay.Constructor
    assert adt.TypeData is relay.TypeData
    assert relay.op.Op is tvm.ir.Op


def test_types_of_functions_are_types_of_functions() -> None:
    a = relay.TypeVar("a")
    made = relay.FuncType([a], a, [a])
    assert isinstance(made, tvm.ir.FuncType)
    assert (made.arg_types, made.ret_type, made.type_params) == ((a,), a, (a,))
    again = tvm.ir.load_json(tvm.ir.save_json(made))
    assert type(again) is relay.FuncType
    assert tvm.ir.structural_equal(made, again)
    assert str(made) == "fn [a](a) -> a"


def test_what_the_package_shows() -> None:
    assert relay.build_config(opt_level=3).opt_level == 3
    assert relay.contrib.get_pattern_table is relay.op.contrib.get_pattern_table


def test_operators_are_registered_once() -> None:
    relay.op.op.register("tests.once")
    with pytest.raises(tvm.TVMError, match=r"Operator tests\.once is registered before"):
        relay.op.op.register("tests.once")

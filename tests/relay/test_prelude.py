"""Lists, options, trees and natural numbers, and functions over them."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.relay.backend.evaluate import ConstructorValue
from tvm.relay.prelude import Prelude
from tvm.relay.testing import nat

pytestmark = pytest.mark.pure


@pytest.fixture(scope="module")
def p() -> Prelude:
    made = Prelude(tvm.IRModule({}))
    made.mod.import_from_std("nat.rly")
    return made


def num(value: int) -> Any:
    return relay.const(value)


def build(p: Prelude, *items: Any) -> Any:
    _, cons, nil = p.mod.get_type("List")
    made = nil()
    for item in reversed(items):
        made = cons(item if isinstance(item, relay.RelayExpr) else num(item), made)
    return made


def value(p: Prelude, expr: Any) -> Any:
    """The value of an expression in Python's words."""
    return plain(relay.create_executor("debug", p.mod).evaluate(expr))


def plain(found: Any) -> Any:
    if isinstance(found, ConstructorValue):
        if found.constructor.name_hint in ("Cons", "Nil"):
            items = []
            while found.constructor.name_hint == "Cons":
                items.append(plain(found.fields[0]))
                found = found.fields[1]
            return items
        return (found.constructor.name_hint, *[plain(field) for field in found.fields])
    if isinstance(found, list):
        return tuple(plain(field) for field in found)
    return found.numpy().item()


def func(*names: str, body: Any) -> Any:
    params = [relay.Var(name) for name in names]
    return relay.Function(params, body(*params))


def test_lists(p: Prelude) -> None:
    numbers = build(p, 1, 2, 3)
    less = relay.Function([relay.Var("z")], relay.const(True))
    assert value(p, p.hd(numbers)) == 1
    assert value(p, p.tl(numbers)) == [2, 3]
    assert value(p, p.nth(numbers, num(2))) == 3
    assert value(p, p.update(numbers, num(1), num(7))) == [1, 7, 3]
    assert value(p, p.length(numbers)) == 3
    assert value(p, p.sum(numbers)) == 6
    assert value(p, p.rev(numbers)) == [3, 2, 1]
    assert value(p, p.concat(numbers, build(p, 9))) == [1, 2, 3, 9]
    assert value(p, p.zip(numbers, build(p, 8, 9))) == [(1, 8), (2, 9)]
    assert value(p, p.filter(less, numbers)) == [1, 2, 3]
    odd = func("x", body=lambda x: relay.equal(relay.mod(x, num(2)), num(1)))
    assert value(p, p.filter(odd, numbers)) == [1, 3]


def test_functions_over_lists(p: Prelude) -> None:
    numbers = build(p, 1, 2, 3)
    double = func("x", body=lambda x: x + x)
    minus = func("a", "b", body=lambda a, b: a - b)
    assert value(p, p.map(double, numbers)) == [2, 4, 6]
    assert value(p, p.foldl(minus, num(10), numbers)) == 4
    assert value(p, p.foldr(minus, num(10), numbers)) == 1 - (2 - (3 - 10))
    assert value(p, p.foldr1(minus, numbers)) == 1 - (2 - 3)
    running = func("a", "b", body=lambda a, b: relay.Tuple([a + b, a * b]))
    assert value(p, p.map_accuml(running, num(0), numbers)) == (6, [0, 2, 9])
    assert value(p, p.map_accumr(running, num(0), numbers)) == (6, [5, 6, 0])


def test_lists_from_a_seed(p: Prelude) -> None:
    _, some, none = p.mod.get_type("Option")
    down = func(
        "n",
        body=lambda n: relay.If(
            relay.equal(n, num(0)), none(), some(relay.Tuple([n - num(1), n]))
        ),
    )
    assert value(p, p.unfoldr(down, num(3))) == [3, 2, 1]
    assert value(p, p.unfoldl(down, num(3))) == [1, 2, 3]


def test_functions_of_functions(p: Prelude) -> None:
    double = func("x", body=lambda x: x + x)
    one_more = func("x", body=lambda x: x + num(1))
    assert value(p, relay.Call(p.compose(double, one_more), [num(3)])) == 8
    assert value(p, relay.Call(p.iterate(double, num(5)), [num(1)])) == 32
    assert value(p, p.id(num(4))) == 4


def test_trees(p: Prelude) -> None:
    _, rose = p.mod.get_type("Tree")
    inner = rose(num(3), build(p, rose(num(4), build(p))))
    tree = rose(num(1), build(p, rose(num(2), build(p)), inner))
    assert value(p, p.size(tree)) == 4
    double = func("x", body=lambda x: x + x)
    found = value(p, p.tmap(double, tree))
    assert found == ("Rose", 2, [("Rose", 4, []), ("Rose", 6, [("Rose", 8, [])])])


def test_natural_numbers(p: Prelude) -> None:
    run = relay.create_executor("debug", p.mod).evaluate
    add, double = (p.mod.get_global_var(f"nat_{name}") for name in ("add", "double"))
    assert nat.count(p, run(add(nat.make_nat_expr(p, 3), nat.make_nat_expr(p, 4)))) == 7
    assert nat.count(p, run(double(nat.make_nat_expr(p, 3)))) == 6
    assert nat.count(p, nat.make_nat_value(p, 5)) == 5
    times = p.mod.get_global_var("nat_iterate")
    twice = func("x", body=lambda x: x + x)
    assert value(p, relay.Call(times(twice, nat.make_nat_expr(p, 3)), [num(1)])) == 8
    with pytest.raises(ValueError, match="no natural number is -1"):
        nat.make_nat_expr(p, -1)


def test_definitions_come_once_and_have_types(p: Prelude) -> None:
    count = len(p.mod.functions)
    again = Prelude(p.mod)
    assert len(p.mod.functions) == count
    assert again.sum is p.sum or again.sum.name_hint == "sum"
    typed = relay.transform.InferType()(p.mod)
    assert len(typed["length"].checked_type.type_params) == 1
    assert p.get_ctor("List", "Cons").name_hint == "Cons"
    assert p.get_type("Tree").name_hint == "Tree"


def test_what_is_not_there(p: Prelude) -> None:
    with pytest.raises(TVMError, match=r"nat\.rly, prelude\.rly"):
        p.mod.import_from_std("lists.rly")
    with pytest.raises(TVMError, match="Cons, Nil"):
        p.get_ctor("List", "Append")


def test_definitions_of_a_data_type_by_name() -> None:
    p = Prelude(tvm.IRModule({}))
    kind = relay.GlobalTypeVar("tensor_int32_t")
    pair = relay.Constructor("tensor1_int32", [relay.TensorType((relay.Any(),), "int32")], kind)
    nil = relay.Constructor("tensor_nil_int32", [], kind)
    p.mod[kind] = relay.TypeData(kind, [], [nil, pair])
    x = relay.var("x", shape=(3,), dtype="int32")
    p.mod["wrap_int32"] = relay.Function([x], pair(x))
    assert p.get_name("tensor_t", "int32") == "tensor_int32_t"
    assert p.get_global_var("wrap", "int32").name_hint == "wrap_int32"
    assert p.get_global_var("map").same_as(p.map)
    assert p.get_type("tensor_t", "int32") == kind
    assert p.get_tensor_ctor("tensor1", "int32") == pair
    assert p.get_ctor("tensor_int32_t", "tensor_nil", "int32") == nil
    with pytest.raises(TVMError, match="legal: tensor_nil_int32, tensor1_int32"):
        p.get_tensor_ctor("tensor9", "int32")


def test_constructors_by_tag_and_types_by_name() -> None:
    mod = Prelude().mod
    for name in ("List", "Option", "Tree"):
        var, *constructors = mod.get_type(name)
        assert mod[var] is mod.type_definitions[var]
        assert [mod.get_constructor(made.tag) for made in constructors] == constructors
    with pytest.raises(tvm.error.TVMError, match="no constructor with the tag 5"):
        mod.get_constructor(5)


def test_a_module_of_an_expression_and_data_types() -> None:
    var = relay.GlobalTypeVar("Box")
    data = relay.TypeData(var, [], [relay.Constructor("Wrap", [relay.scalar_type("int32")], var)])
    mod = tvm.IRModule.from_expr(relay.const(1), type_defs={var: data})
    assert mod[var] is data
    assert mod["main"].body.data.numpy() == 1


def test_flip() -> None:
    prelude = Prelude()
    a, b = relay.var("a", shape=(), dtype="int32"), relay.var("b", shape=(), dtype="int32")
    less = relay.Call(prelude.flip, [relay.Function([a, b], relay.subtract(a, b))])
    prelude.mod["main"] = relay.Function([], relay.Call(less, [relay.const(1), relay.const(5)]))
    assert relay.create_executor("debug", mod=prelude.mod).evaluate()().numpy() == 4

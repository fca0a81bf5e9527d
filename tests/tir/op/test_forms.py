from tvm import tir
from tvm.tir.op.forms import power_of_two, terms_of

a, b, c = (tir.Var(name, "bool") for name in "abc")


def test_powers_of_two():
    numbers = [tir.const(n, "int32") for n in (1, 2, 64, 3, 0, -4)]
    assert [power_of_two(n) for n in numbers] == [0, 1, 6, None, None, None]
    assert power_of_two(tir.Broadcast(tir.const(8, "int64"), 4)) == 3
    assert power_of_two(tir.Var("n", "int32")) is None


def test_terms_of_a_chain():
    assert terms_of(tir.And(tir.And(a, b), tir.And(c, a)), tir.And) == [a, b, c, a]
    mixed = tir.Or(a, b)
    assert terms_of(tir.And(mixed, c), tir.And) == [mixed, c]
    assert terms_of(a, tir.Or) == [a]


def test_long_chains_need_no_recursion():
    chain = a
    for _ in range(5000):
        chain = tir.Or(chain, b)
    assert len(terms_of(chain, tir.Or)) == 5001

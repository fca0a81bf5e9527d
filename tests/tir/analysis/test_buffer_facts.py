"""Facts about elements: what stores, loops and branches leave of them."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir import Range
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.buffer_facts import BufferFact, BufferFacts, Written, assumed
from tvm.tir.effects import reads_memory

pytestmark = pytest.mark.pure
i, j, n = (e.Var(name, "int32") for name in "ijn")
A, B = (tir.decl_buffer((16,), "int32", name=name) for name in "AB")


def literal(value: int) -> e.IntImm:
    return e.IntImm("int32", value)


def store(buffer, index, value) -> s.BufferStore:
    return s.BufferStore(buffer, value, [index])


def known(facts: BufferFacts, buffer, index) -> str | None:
    found = facts.known(e.BufferLoad(buffer, [index]))
    return None if found is None else str(found)


def test_values_for_all_parameters() -> None:
    fact = BufferFact(A, [i + 2], i * 3).for_all(i, Range(0, 8))
    analyzer = Analyzer()
    assert str(fact.value_at([literal(5)], analyzer)) == "9"
    assert fact.value_at([literal(1)], analyzer) is None, "below the range"
    assert fact.value_at([n], analyzer) is None, "n may be anything"
    analyzer.bind(n, Range(2, 6))
    value = fact.value_at([n], analyzer)
    assert value is not None
    assert analyzer.can_prove_equal(value, n * 3 - 6)
    assert fact.only(i < 2).value_at([literal(5)], analyzer) is None


def test_digits_of_a_number() -> None:
    fact = BufferFact(A, [i * 4 + j], i * 10 + j)
    fact = fact.for_all(j, Range(0, 4)).for_all(i, Range(0, 4))
    assert str(fact.value_at([literal(14)], Analyzer())) == "32"


def test_stores_end_facts() -> None:
    facts = BufferFacts(Analyzer())
    facts.store(A, [literal(0)], literal(7))
    facts.store(A, [literal(1)], literal(8))
    assert known(facts, A, literal(0)) == "7"
    facts.store(A, [literal(0)], None)
    assert known(facts, A, literal(0)) is None
    assert known(facts, A, literal(1)) == "8"
    facts.store(A, [n], literal(1))
    assert known(facts, A, literal(1)) is None, "n may be 1"
    assert known(facts, A, n) == "1"
    facts.store(B, [n], e.BufferLoad(A, [n]))
    assert known(facts, B, n) is None, "the value reads memory"


def test_loops() -> None:
    analyzer = Analyzer()
    facts = BufferFacts(analyzer)
    loop = s.For(i, 0, 16, s.ForKind.SERIAL, store(A, i, literal(4)))
    entry = facts.enter_loop(loop)
    analyzer.bind(i, Range(0, 16))
    facts.store(A, [i], literal(4))
    facts.leave_loop(entry)
    assert known(facts, A, literal(9)) == "4"
    shifting = s.For(j, 0, 15, s.ForKind.SERIAL, store(A, j + 1, e.BufferLoad(A, [j])))
    entry = facts.enter_loop(shifting)
    assert known(facts, A, j) is None, "the iteration before may have written it"
    facts.store(A, [j + 1], None)
    facts.leave_loop(entry)
    assert known(facts, A, literal(9)) is None


def test_branches() -> None:
    facts = BufferFacts(Analyzer())
    facts.store(A, [literal(0)], literal(1))
    before = facts.now
    facts.store(A, [literal(1)], literal(2))
    after_then, facts.now = facts.now, before
    facts.join(n < 3, after_then)
    assert known(facts, A, literal(0)) == "1"
    assert known(facts, A, literal(1)) is None
    analyzer = Analyzer()
    analyzer.bind(n, Range(0, 3))
    assert str(facts.now[-1].value_at([literal(1)], analyzer)) == "2"


def test_assumptions() -> None:
    facts = BufferFacts(Analyzer())
    facts.assume(tir.all(e.EQ(e.BufferLoad(A, [literal(0)]), literal(5)), n > 2))
    facts.assume(tir.any(n < 10, e.EQ(literal(6), e.BufferLoad(A, [literal(1)]))))
    assert known(facts, A, literal(0)) == "5"
    assert known(facts, A, literal(1)) is None, "only where n >= 10"
    call = tir.call_intrin("bool", "tir.assume", n > 2)
    assert str(assumed(s.Evaluate(call))) == "n > 2"
    assert assumed(s.Evaluate(0)) is None


def test_what_is_written() -> None:
    written = Written(s.SeqStmt([store(A, i, literal(0)), store(A, j, literal(1))]))
    assert len(written.data[A.data]) == 2
    assert not written.anything
    assert Written(s.Evaluate(tir.call_extern("int32", "f"))).anything
    assert reads_memory(e.BufferLoad(A, [i]) + 1)
    assert not reads_memory(i + 1)

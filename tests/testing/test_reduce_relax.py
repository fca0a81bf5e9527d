"""Each edit of a Relax function."""

from __future__ import annotations

import pytest

from tvm.relax.analysis.well_formed import faults_of
from tvm.script import relax as R
from tvm.testing.reduce_relax import function_edits

pytestmark = pytest.mark.pure


@R.function
def graph(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    with R.dataflow():
        a = R.add(x, x)
        b = R.exp(a)
        R.output(b)
    if c:
        with R.dataflow():
            d = R.abs(b)
            R.output(d)
        z = d
    else:
        z = R.negative(b)
    return z


def _made() -> list[str]:
    found = []
    for edit in function_edits(graph):
        made = edit()
        if made is not None:
            assert not faults_of(made), made.script()
            found.append(made.script())
    return found


def test_all_are_well_formed_and_different() -> None:
    texts = _made()
    assert len(set(texts)) > 8
    assert graph.script() not in texts


def test_an_earlier_value_is_returned() -> None:
    assert any("R.add" in text and "R.exp" not in text for text in _made())


def test_an_operand_stands_for_a_call() -> None:
    assert any("R.exp(x)" in text for text in _made())


def test_one_branch_is_taken() -> None:
    taken = [text for text in _made() if "R.exp" in text and "if " not in text]
    assert any("R.abs" in text for text in taken)
    assert any("R.negative" in t for t in taken)


def test_a_parameter_that_nobody_reads_goes() -> None:
    assert any("y: R.Tensor" not in text for text in _made())

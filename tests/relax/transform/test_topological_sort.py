"""TopologicalSort: orders and directions."""

import pytest

from tests.relax.programs import RelaxPassTest
from tvm import relax
from tvm.relax.transform import TopologicalSort
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class TwoChains:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            a1 = R.exp(x)
            b1 = R.negative(y)
            a2 = R.nn.relu(a1)
            b2 = R.tanh(b1)
            gv = R.add(a2, b2)
            R.output(gv)
        return gv


def _names(order: str, direction: str) -> list[str]:
    after = TopologicalSort(order, direction)(TwoChains)
    return [b.var.name_hint for b in after["main"].body.blocks[0].bindings]


@pytest.mark.parametrize(
    ("order", "direction", "names"),
    [
        ("depth-first", "from-inputs", ["a1", "a2", "b1", "b2", "gv"]),
        ("breadth-first", "from-inputs", ["a1", "b1", "a2", "b2", "gv"]),
        ("depth-first", "from-outputs", ["a1", "a2", "b1", "b2", "gv"]),
        ("breadth-first", "from-outputs", ["b1", "a1", "b2", "a2", "gv"]),
    ],
)
def test_orders(order: str, direction: str, names: list[str]) -> None:
    assert _names(order, direction) == names


@I.ir_module
class Crossed:
    @R.function
    def main(
        a: R.Tensor((4,), "float32"), b1: R.Tensor((4,), "float32"), b2: R.Tensor((4,), "float32")
    ):
        with R.dataflow():
            c2 = R.add(a, b2)
            c1 = R.add(a, b1)
            d2 = R.add(a, c2)
            d1 = R.add(a, c1)
            e = R.add(d1, d2)
            R.output(e)
        return e


@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
def test_inputs_and_operands_come_in_their_order(direction: str) -> None:
    after = TopologicalSort("depth-first", direction)(Crossed)
    names = [b.var.name_hint for b in after["main"].body.blocks[0].bindings]
    assert names == ["c1", "d1", "c2", "d2", "e"]


class TestMeaning(RelaxPassTest):
    run = TopologicalSort()
    Before = TwoChains


class TestCastsComeBeforeTheirSymbols(RelaxPassTest):
    run = TopologicalSort("depth-first", "from-outputs")
    sizes = {"n": 4}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            m = T.int64()
            with R.dataflow():
                a = R.exp(x)
                b = R.match_cast(x, R.Tensor((m,), "float32"))
                c = R.zeros(R.shape([m]), "float32")
                gv = R.add(c, c)
                gv1 = R.negative(a)
                R.output(gv, gv1)
            return (gv, gv1)

    def test_the_cast_is_first(self):
        names = [b.var.name_hint for b in self._after()["main"].body.blocks[0].bindings]
        assert names.index("b") < names.index("c")


def test_a_sorted_block_stays_the_same() -> None:
    once = TopologicalSort()(TwoChains)
    assert TopologicalSort()(once)["main"] is once["main"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"order": "random"}, "TopologicalSort: order='random'\n"
         "  legal: 'depth-first' or 'breadth-first'"),
        ({"direction": "up"}, "TopologicalSort: direction='up'\n"
         "  legal: 'from-inputs' or 'from-outputs'"),
    ],
)  # fmt: skip
def test_rejects(options: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError) as caught:
        TopologicalSort(**options)  # type: ignore[arg-type]
    assert str(caught.value) == text


@pytest.mark.parametrize("order", ["depth-first", "breadth-first"])
@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
def test_what_a_local_function_captures_stands_before_it(order: str, direction: str) -> None:
    @I.ir_module
    class Captures:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)

                @R.function
                def local(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                    return R.add(z, a)

                b = R.negative(y)
                c = local(b)
                R.output(c)
            return c

    after = TopologicalSort(order, direction)(Captures)
    assert relax.analysis.well_formed(after)
    names = [binding.var.name_hint for binding in after["main"].body.blocks[0].bindings]
    assert names.index("a") < names.index("local") < names.index("c")


def test_what_needs_nothing_and_what_nobody_reads() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            w = R.add(y, y)
            with R.dataflow():
                k = R.zeros(R.shape([4]), "float32")
                a = R.exp(x)
                dead = R.sin(a)
                b = R.add(w, y)
                c = R.add(b, k)
                R.output(a, c)
            return (c, a)

    orders = {
        ("depth-first", "from-inputs"): ["a", "dead", "b", "k", "c"],
        ("depth-first", "from-outputs"): ["a", "dead", "b", "k", "c"],
        ("breadth-first", "from-outputs"): ["k", "b", "a", "c", "dead"],
    }
    for options, wanted in orders.items():
        block = TopologicalSort(*options)(Mod)["main"].body.blocks[1]
        assert [b.var.name_hint for b in block.bindings] == wanted, options

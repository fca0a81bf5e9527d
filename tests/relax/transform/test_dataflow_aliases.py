"""How long variables of a dataflow block are needed, and which may share memory."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.transform.dataflow_aliases import Aliases, live_ranges
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def _block(mod: Any) -> Any:
    return mod["main"].body.blocks[-1]


def _aliases(mod: Any) -> tuple[dict[str, set[int]], dict[int, list[set[int]]]]:
    found = Aliases(_block(mod), mod["main"].params)
    return {var.name_hint: numbers for var, numbers in found.sets.items()}, found.tuples


def test_ranges_go_to_the_last_use_and_to_the_end_for_what_is_outside() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            with R.dataflow():
                y = R.const(1, dtype="int32")
                z = R.add(x, y)
                q = R.multiply(z, y)
                p = R.add(z, q)
                n = R.multiply(p, p)
                unused = R.add(p, y)
                R.output(n)
            return n

    ranges = {var.name_hint: found for var, found in live_ranges(_block(Mod)).items()}
    assert ranges == {"x": (-1, 6), "y": (0, 5), "z": (1, 3), "q": (2, 3), "p": (3, 5),
                      "n": (4, 6), "unused": (5, 5)}  # fmt: skip


def test_names_share_and_operators_make_new_memory() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            with R.dataflow():
                y = x
                z = R.add(y, y)
                n = z
                R.output(n)
            return n

    assert _aliases(Mod)[0] == {"x": {0}, "y": {0}, "z": {1}, "n": {1}}


def test_fields_of_tuples() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((), "int32"), y: R.Tensor((), "int32")):
            with R.dataflow():
                t = (x, y)
                a = t[0]
                u = t
                b = u[1]
                z = R.add(a, b)
                s = (t, z)
                f = s[0][1]
                R.output(f)
            return f

    sets, tuples = _aliases(Mod)
    assert [sets[name] for name in "xytabzs"] == [{0}, {1}, {2}, {0}, {1}, {3}, {4}]
    assert sets["f"] == {1}
    assert tuples == {2: [{0}, {1}], 4: [{2}, {3}]}


def test_operators_that_give_tuples() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((60,), "int32"), p: R.Tuple(R.Tensor((), "int32"), R.Tuple())):
            with R.dataflow():
                t = R.split(x, 2)
                y = t[0]
                z = t[1]
                q = p[1]
                R.output(z)
            return z

    sets, tuples = _aliases(Mod)
    assert [sets[name] for name in "xptyzq"] == [{0}, {1}, {4}, {5}, {6}, {3}]
    assert tuples == {1: [{2}, {3}], 3: [], 4: [{5}, {6}]}


def test_functions_may_return_what_they_were_given() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def same(x: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            return x

        @R.function
        def main(x: R.Tensor((), "int32")):
            cls = Mod
            with R.dataflow():
                y = R.call_pure_packed("any", x, sinfo_args=R.Tensor((), "int32"))
                z = cls.same(y)
                t = (x, z)
                m = R.call_pure_packed("any", t, sinfo_args=R.Tensor((), "int32"))
                R.output(m)
            return m

    sets, _ = _aliases(Mod)
    assert sets == {"x": {0}, "y": {0, 1}, "z": {0, 1, 2}, "t": {3}, "m": {0, 1, 2, 3, 4}}


def test_nothing_is_known_of_what_comes_from_outside() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((), "int32")):
            y = R.const(1, dtype="int32")
            w = (y, x)
            with R.dataflow():
                z = y
                a = R.const(2, dtype="int32")
                t = (z, a)
                b = t[0]
                c = t[1]
                d = w[0]
                R.output(d)
            return d

    sets, tuples = _aliases(Mod)
    assert sets == {"x": {0}, "z": {-1}, "a": {1}, "t": {2}, "b": {-1}, "c": {1}, "d": {-1}}
    assert tuples == {2: [{-1}, {1}]}

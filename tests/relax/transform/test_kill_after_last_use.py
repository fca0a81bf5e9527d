"""KillAfterLastUse: what is done with is said to be."""

from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.ir import IRModule
from tvm.relax.transform import KillAfterLastUse
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestStorageAndTensors(RelaxPassTest):
    run = KillAfterLastUse()

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor([16, 32], "float32")):
            storage = R.memory.alloc_storage(R.shape([2048]), 0, "global", "uint8")
            y = R.memory.alloc_tensor(storage, 0, R.shape([16, 32]), "float32")
            z = R.add(x, y)
            return x

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(x: R.Tensor([16, 32], "float32")):
            storage = R.memory.alloc_storage(R.shape([2048]), 0, "global", "uint8")
            y = R.memory.alloc_tensor(storage, 0, R.shape([16, 32]), "float32")
            _ = R.memory.kill_storage(storage)
            z = R.add(x, y)
            _1 = R.memory.kill_tensor(y)
            return x


class TestObjectsNamesAndResults(RelaxPassTest):
    """Shapes hold no memory; names that nobody reads go; results and killed values stay."""

    run = KillAfterLastUse()

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor([4], "float32")):
            s = R.shape_of(x)
            y = R.add(x, x)
            name = y
            other = name
            t = R.reshape(y, s)
            _ = R.memory.kill_tensor(y)
            u = R.exp(t)
            return u

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(x: R.Tensor([4], "float32")):
            s = R.shape_of(x)
            y = R.add(x, x)
            t = R.reshape(y, s)
            _ = R.memory.kill_tensor(y)
            u = R.exp(t)
            _2 = R.memory.kill_tensor(t)
            return u


class TestOtherNames(RelaxPassTest):
    """Names, items and casts that change nothing are resolved; branches may give a value."""

    run = KillAfterLastUse()

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), x: R.Tensor([4], "float32")):
            y = R.add(x, x)
            z = R.match_cast(y, R.Tensor([4], "float32"))
            t = (z, x)
            a = R.exp(y)
            u = t[0]
            b = R.exp(u)
            w = R.exp(b)
            if c:
                v = a
            else:
                v = R.negative(b)
            d = R.exp(w)
            e = R.add(v, d)
            return e

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), x: R.Tensor([4], "float32")):
            y = R.add(x, x)
            t = (y, x)
            a = R.exp(y)
            b = R.exp(y)
            _1 = R.memory.kill_tensor(y)
            w = R.exp(b)
            if c:
                v = a
            else:
                v = R.negative(b)
            _2 = R.memory.kill_tensor(b)
            d = R.exp(w)
            _3 = R.memory.kill_tensor(w)
            e = R.add(v, d)
            _4 = R.memory.kill_tensor(a)
            _5 = R.memory.kill_tensor(d)
            return e


class TestTupleHoldsItsFields(RelaxPassTest):
    """Also one that is the result: its fields need no variables of their own."""

    run = KillAfterLastUse()

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor([4], "float32")):
            y = R.add(x, x)
            z = y
            a = R.exp(y)
            t = (z, a)
            return t

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(x: R.Tensor([4], "float32")):
            y = R.add(x, x)
            a = R.exp(y)
            t = (y, a)
            _ = R.memory.kill_tensor(y)
            _1 = R.memory.kill_tensor(a)
            return t


def test_numbers_and_functions_are_not_killed() -> None:
    @R.function(pure=False)
    def before(x: R.Tensor([4], "float32")):
        a = R.str("a")
        n = R.call_packed("f", x, a, sinfo_args=R.Prim("int64"))
        g = R.call_packed("g", n, sinfo_args=R.Callable((R.Object,), R.Object))
        r = R.call_packed("h", g, sinfo_args=R.Object)
        return r

    text = str(KillAfterLastUse()(IRModule({"main": before})))
    assert text.count("kill_object") == 1
    assert "R.vm.kill_object(a)" in text


class TestNamesThatAreRead(RelaxPassTest):
    """What a name stands for is read in its place, in branches too; a looser name stays one."""

    run = KillAfterLastUse()

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), w: R.Tensor([4], "float32")):
            a = R.exp(w)
            b = a
            d = b
            if c:
                e = R.exp(d)
                f = e
                r = R.add(f, w)
            else:
                r = R.negative(d)
            return r

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), w: R.Tensor([4], "float32")):
            a = R.exp(w)
            if c:
                e = R.exp(a)
                b = R.add(e, w)
                _ = R.memory.kill_tensor(e)
                r = b
            else:
                r = R.negative(a)
            _1 = R.memory.kill_tensor(a)
            return r


class TestBranches(RelaxPassTest):
    """A branch kills what it made; what came from outside is killed behind it."""

    run = KillAfterLastUse()

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), x: R.Tensor([4], "float32")):
            y = R.add(x, x)
            if c:
                a = R.exp(y)
                r = R.add(a, y)
            else:
                r = R.negative(y)
            z = R.exp(r)
            return z

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), x: R.Tensor([4], "float32")):
            y = R.add(x, x)
            if c:
                a = R.exp(y)
                b = R.add(a, y)
                _ = R.memory.kill_tensor(a)
                r = b
            else:
                r = R.negative(y)
            _1 = R.memory.kill_tensor(y)
            z = R.exp(r)
            _2 = R.memory.kill_tensor(r)
            return z


def test_kills_in_a_dataflow_block_are_inner_values() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                R.output(b)
            return b

    block = KillAfterLastUse()(Before)["main"].body.blocks[0]
    assert [type(one.var).__name__ for one in block.bindings] == [
        "DataflowVar", "Var", "DataflowVar",
    ]  # fmt: skip
    assert block.bindings[2].value.op.name == "relax.memory.kill_tensor"


class TestWhatHasNoRegister(RelaxPassTest):
    """Constants, shapes and numbers are known in advance: nothing holds them."""

    run = KillAfterLastUse()

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor([4], "float32")):
            s = R.shape([2, 2])
            p = R.prim_value(T.float32(3))
            y = R.add(x, x)
            z = R.reshape(y, s)
            w = R.full((2, 2), R.const(1.0, "float32"))
            v = R.add(z, w)
            u = R.multiply(v, p)
            return u

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(x: R.Tensor([4], "float32")):
            s = R.shape([2, 2])
            p = R.prim_value(T.float32(3))
            y = R.add(x, x)
            z = R.reshape(y, s)
            _ = R.memory.kill_tensor(y)
            w = R.full((2, 2), R.const(1.0, "float32"))
            v = R.add(z, w)
            _1 = R.memory.kill_tensor(z)
            _2 = R.memory.kill_tensor(w)
            u = R.multiply(v, p)
            _3 = R.memory.kill_tensor(v)
            return u

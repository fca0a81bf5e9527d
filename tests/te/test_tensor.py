from __future__ import annotations

import pytest

import tvm
from tvm import te, tir, topi
from tvm.error import TVMError
from tvm.te.tensor import tensors_in

pytestmark = pytest.mark.pure


def test_elements_and_slices() -> None:
    a = te.placeholder((4, 5), "float16", name="A")
    assert (a.ndim, a.name, a.dtype, a.value_index) == (2, "A", "float16", 0)
    for element in (a(1, 2), a[1, 2].asobject(), a[1][2].asobject()):
        assert isinstance(element, tir.ProducerLoad)
        assert element.producer == a
    assert a[1][2].astype("float32").dtype == "float32"


def test_wrong_indices_are_refused() -> None:
    a = te.placeholder((4, 5), name="A")
    with pytest.raises(ValueError, match=r"Need to provide 2 index in tensor but 1 was provided"):
        a(0)
    with pytest.raises(TypeError, match=r"integer expression"):
        a(0, 1.5)
    with pytest.raises(TypeError, match=r"as a single value"):
        tir.exp(a)
    with pytest.raises(TypeError, match=r"cannot be iterated"):
        list(a)


def test_outputs_are_the_same_tensor() -> None:
    a = te.placeholder((4,))
    b = te.compute((4,), lambda i: a[i] + 1)
    assert b.op.output(0) == b
    assert {b.op.output(0): 1}[b] == 1
    assert b != a
    with pytest.raises(IndexError, match=r"1 outputs"):
        b.op.output(1)


def test_operators_on_tensors_broadcast() -> None:
    n, scalar, b = te.var("n"), te.placeholder((), name="s"), te.placeholder((10, 5), name="B")
    for result in (1 + scalar, n + scalar, scalar + scalar, 1 + b, n + b, b + b, scalar + b,
                   b[0, 0] + b, -b, b < 1):  # fmt: skip
        assert isinstance(result, te.Tensor)
    assert isinstance(1 + b[0, 0], tir.PrimExpr)
    assert (1 + b).op.tag == topi.tag.ELEMWISE
    assert (b + b).op.tag == topi.tag.BROADCAST


def test_input_tensors_come_once_in_order() -> None:
    a, b = te.placeholder((4,), name="a"), te.placeholder((4,), name="b")
    c = te.compute((4,), lambda i: b[i] + a[i] + b[i])
    assert c.op.input_tensors == [b, a]
    assert tensors_in([a(0), b(1)]) == [a, b]


def test_several_outputs() -> None:
    a = te.placeholder((4,), name="a")
    x, y = te.compute((4,), lambda i: (a[i] + 1, a[i] * 2), name="pair")
    assert x.op is y.op
    assert (x.name, y.name, y.value_index) == ("pair.v0", "pair.v1", 1)


def test_reductions_stand_alone() -> None:
    a, k = te.placeholder((4, 5)), te.reduce_axis((0, 5))
    with pytest.raises(TVMError, match=r"only allowed at the top level"):
        te.compute((4,), lambda i: te.sum(a[i, k], axis=k) + 1)
    with pytest.raises(TVMError, match=r"all outputs should"):
        te.compute((4,), lambda i: (te.sum(a[i, k], axis=k), a[i, 0]))
    j = te.reduce_axis((0, 5))
    with pytest.raises(TVMError, match=r"same attribute except"):
        te.compute((4,), lambda i: (te.sum(a[i, k], axis=k), te.sum(a[i, j], axis=j)))


def test_json_round_trip() -> None:
    a, k = te.placeholder((4, 5), name="A"), te.reduce_axis((0, 5))
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    loaded = tvm.ir.load_json(tvm.ir.save_json(b))
    assert isinstance(loaded, te.Tensor)
    assert str(loaded) == str(b) == "Tensor(shape=[4], op.name=B)"
    assert isinstance(loaded.op, te.ComputeOp)


def test_scan_checks_its_states() -> None:
    state, first = te.placeholder((3, 4)), te.placeholder((1, 4))
    wrong = te.compute((3, 4), lambda t, i: state[t, i].astype("int32"))
    with pytest.raises(TVMError, match=r"its state 2 of float32"):
        te.scan(first, wrong, state)
    with pytest.raises(TVMError, match=r"as many of each"):
        te.scan([first, first], [state], [state])


def test_what_is_no_more_says_what_takes_its_place() -> None:
    with pytest.raises(AttributeError, match=r"te.create_schedule is no more: tvm.tir.Schedule"):
        te.create_schedule
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        te.nothing


def test_a_tensor_has_no_truth_value() -> None:
    tensor = te.placeholder((3,), name="A")
    for ask in (bool, lambda t: t and 1, lambda t: not t):
        with pytest.raises(ValueError, match="Cannot use and / or / not operator"):
            ask(tensor)

from __future__ import annotations

import pytest

import tvm
from tvm import te, tir
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


def test_axes_are_named_by_the_function() -> None:
    a = te.placeholder((2, 3, 4))
    names = lambda t: [axis.var.name for axis in t.op.axis]
    assert names(te.compute((2, 3), lambda x, y: a[x, y, 0])) == ["x", "y"]
    assert names(te.compute((2, 3), lambda *i: a(*i, 0))) == ["i0", "i1"]
    assert names(te.compute((2, 3), lambda x, *i: a(x, *i, 0))) == ["x", "i0"]
    varargs = te.compute((2, 3), lambda *i: a(*i, 0), varargs_names=["p", "q"])
    assert names(varargs) == ["p", "q"]
    assert te.compute((), lambda: a[0, 0, 0]).ndim == 0


def test_wrong_number_of_parameters() -> None:
    with pytest.raises(ValueError, match=r"args=2, dimension=1"):
        te.compute((4,), lambda i, j: i)
    with pytest.raises(RuntimeError, match=r"varargs \(2\) does not match"):
        te.compute((4, 4), lambda *i: i[0], varargs_names=["x"])


def test_shapes_are_symbolic_or_single() -> None:
    n = te.size_var("n")
    a = te.placeholder(n + 2, name="A")
    b = te.compute(n, lambda i: a[i] + a[i + 1] + a[i + 2])
    assert b.shape[0] is n
    assert te.placeholder((3,)).dtype == "float32"


def test_operations_say_what_they_are() -> None:
    a = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    row = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="row", tag="mine")
    one = te.compute((4,), lambda i: row[i] + 1, name="one", attrs={"step": 2})
    assert str(a.op) == f"placeholder(A, {id(a.op):#x})"
    assert str(one.op) == repr(one.op) == (
        'compute(one, body=[row[i] + T.float32(1.0)], axis=[T.iter_var(i, T.Range(0, 4), '
        '"DataPar", "")], reduce_axis=[], tag=, attrs={\'step\': 2})'
    )
    assert 'reduce_axis=[T.iter_var(k, T.Range(0, 8), "CommReduce", "")], tag=mine' in str(row.op)


def test_attributes_are_kept() -> None:
    a = te.placeholder((4,))
    b = te.compute((4,), lambda i: a[i], attrs={"hello": 1, "arr": [10, 12]})
    assert b.op.attrs["hello"] == 1
    assert "xx" not in b.op.attrs


def test_reduction_forms() -> None:
    a = te.placeholder((4, 5, 6))
    j, k = te.reduce_axis((0, 5), "j"), te.reduce_axis(tvm.ir.Range(0, 6), "k")
    one = te.compute((4,), lambda i: te.sum(a[i, j, k], axis=[j, k]))
    assert [axis.var.name for axis in one.op.reduce_axis] == ["j", "k"]
    mine = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), name="mine")
    assert te.compute((4,), lambda i: mine(a[i, 0, k], axis=k)).op.reduce_axis == (k,)
    assert isinstance(mine(te.var("m"), te.var("n")), tir.Mul)


def test_thread_axis() -> None:
    assert te.thread_axis("threadIdx.x").thread_tag == "threadIdx.x"
    axis = te.thread_axis((0, 32), "blockIdx.x", name="bx")
    assert (axis.var.name, axis.dom.extent.value) == ("bx", 32)
    with pytest.raises(ValueError, match=r"tag must be given"):
        te.thread_axis((0, 32))


def test_scan() -> None:
    m, n = te.size_var("m"), te.size_var("n")
    x, state = te.placeholder((m, n)), te.placeholder((m, n))
    first = te.compute((1, n), lambda _, i: x[0, i])
    step = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i])
    result = te.scan(first, step, state, inputs=[x])
    assert tuple(result.shape) == (m, n)
    assert result.op.scan_axis.dom.min.value == 1


def call(name: str, ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.PrimExpr:
    return tir.call_packed(name, *[b.data for b in (*ins, *outs)])


def test_extern() -> None:
    a = te.placeholder((4,), "float32", name="A")
    b = te.extern((4,), [a], lambda ins, outs: call("f", ins, outs))
    assert (tuple(map(int, b.shape)), b.dtype) == ((4,), "float32")
    several = te.extern([(4,), (2, 2)], [a], lambda ins, outs: call("f", ins, outs), dtype="int8")
    assert [t.dtype for t in several] == ["int8", "int8"]
    assert several[1].value_index == 1
    assert several[0].op.input_tensors == [a]


def test_extern_refuses() -> None:
    a, i = te.placeholder((4,)), te.placeholder((4,), "int32")
    with pytest.raises(ValueError, match=r"Cannot infer output type"):
        te.extern((4,), [a, i], lambda ins, outs: call("f", ins, outs))
    with pytest.raises(ValueError, match=r"should return PrimExpr or Stmt"):
        te.extern((4,), [a], lambda ins, outs: None)
    with pytest.raises(ValueError, match=r"expect inputs to be tensor"):
        te.extern((4,), [3], lambda ins, outs: call("f", ins, outs), dtype="int32")
    buffer = tir.decl_buffer((4,))
    with pytest.raises(RuntimeError, match=r"in_buffers mismatch: 1 vs 2"):
        te.extern((4,), [a], lambda ins, outs: 0, in_buffers=[buffer, buffer])


def doubler() -> tir.PrimFunc:
    x, y, i = (
        tir.decl_buffer((4,), name="x"),
        tir.decl_buffer((4,), name="y"),
        tir.Var("i", "int32"),
    )
    body = tir.For(i, 0, 4, 0, tir.BufferStore(y, tir.BufferLoad(x, [i]) * 2.0, [i]))
    handles = [tir.Var("hx", "handle"), tir.Var("hy", "handle")]
    return tir.PrimFunc(handles, body, None, dict(zip(handles, (x, y))))


def test_extern_primfunc() -> None:
    a = te.placeholder((4,), name="a")
    b = te.extern_primfunc([a], doubler())
    assert tuple(map(int, b.shape)) == (4,)
    with pytest.raises(ShapeError, match=r"1 buffers"):
        te.extern_primfunc([a, a], doubler())
    with pytest.raises(ShapeError, match=r"equal shapes"):
        te.extern_primfunc([te.placeholder((5,))], doubler())


@pytest.mark.parametrize("extent", [-1, "n", 2.5, tir.FloatImm("float32", 2)])
def test_extents_are_whole_numbers(extent: object) -> None:
    with pytest.raises(ShapeError, match="dimension 1 of a shape"):
        te.placeholder((2, extent))
    with pytest.raises(ShapeError, match=r"te\.compute 'rows'"):
        te.compute((2, extent), lambda i, j: i, name="rows")


def test_more_dimensions_than_loops_nest_are_refused() -> None:
    assert te.compute((1,) * 64, lambda *i: 0.0, name="most").ndim == 64
    with pytest.raises(ShapeError, match="found: 65 dimensions\n  legal: at most 64"):
        te.compute((1,) * 65, lambda *i: 0.0, name="more")


def test_attributes_are_a_dict() -> None:
    with pytest.raises(TypeError, match="ComputeOp: the attributes are a str; legal: a dict"):
        te.compute((2,), lambda i: i, attrs="fast")
    with pytest.raises(TypeError, match="ProducerLoad: the indices are a int; legal: a list"):
        tir.ProducerLoad(te.placeholder((2,)), 3)

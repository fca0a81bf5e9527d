"""Text that shows every node."""

import numpy as np
import pytest

from tvm import relax as rx
from tvm import tir
from tvm.ir.type import FuncType, TupleType
from tvm.relax.testing import dump_ast
from tvm.relax.testing.ast_printer import ASTPrinter
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def _squeeze(text):
    return "".join(text.split())


@pytest.fixture
def plain():
    return lambda node, **kw: _squeeze(dump_ast(node, include_struct_info_annotations=False, **kw))


def test_leaves(plain):
    assert dump_ast(rx.Var("v")) == 'Var(name_hint="v")'
    known = dump_ast(rx.Var("v", R.Tensor([54, 96], "float32")))
    assert "struct_info=TensorStructInfo(" in known
    assert "PrimExpr(value=`T.int64(54)`)" in known
    assert plain(rx.DataflowVar("d")) == 'DataflowVar(name_hint="d")'
    assert _squeeze(dump_ast(rx.PrimValue(1))) == (
        "PrimValue(value=PrimExpr(value=`T.int64(1)`),struct_info=PrimStructInfo(dtype=int64))"
    )
    assert plain(rx.StringImm("a b")) == 'StringImm(value="ab")'
    assert plain(rx.DataTypeImm("int32")) == "DataTypeImm(value=int32)"
    assert plain(rx.const(1)) == "Constant(data=1)"
    assert plain(rx.ShapeExpr([tir.Var("m", "int64")])) == (
        "ShapeExpr(values=[PrimExpr(value=`m`)])"
    )


def test_bindings_and_blocks(plain):
    m = tir.Var("m", "int64")
    cast = rx.MatchCast(rx.Var("a"), rx.const([4], "int32"), R.Tensor([m], "int32"))
    bind = rx.VarBinding(rx.Var("b"), rx.const(np.ones((2, 2), "float32")))
    text = plain(rx.BindingBlock([cast, bind]))
    assert text.startswith('BindingBlock(bindings=[MatchCast(var=Var(name_hint="a")')
    assert 'VarBinding(var=Var(name_hint="b"),value=Constant(data=[[1.1.][1.1.]]))' in text
    assert plain(rx.DataflowBlock([bind])).startswith("DataflowBlock(bindings=[VarBinding(")
    assert plain(bind) in text
    assert plain(cast) in text


def test_function(plain):
    @R.function(pure=False)
    def f(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")) -> R.Object:
        if c:
            y = R.add(x, x)
        else:
            y = R.call_packed("g", x, sinfo_args=R.Tensor((2,), "float32"))
        t = (y, x)
        z = R.sum(t[0], axis=[0], keepdims=True)
        return z

    text = plain(f)
    assert text.startswith('Function(params=[Var(name_hint="x"),Var(name_hint="c")],body=SeqExpr(')
    assert "ret_struct_info=TensorStructInfo(" in text
    assert "is_pure=False" in text
    assert 'attrs={"global_symbol":"f"}' in text
    assert 'op=Op(name="relax.add"),args=[Var(name_hint="x"),Var(name_hint="x")]' in text
    assert 'op=ExternFunc(global_symbol="g"),args=[Var(name_hint="x")],sinfo_args=[Tensor' in text
    assert 'TupleGetItem(tuple_value=Var(name_hint="t"),index=0)' in text
    assert '"axis":[0]' in text
    assert '"keepdims":True' in text
    assert '"keepdims"' not in plain(f, include_call_attrs=False)
    assert "If(cond=Var(name_hint=" in text
    assert "false_branch=SeqExpr(" in text
    assert "Tuple(fields=[Var(" in text


def test_layout_of_the_text():
    t = rx.Tuple([rx.Var("a"), rx.Var("b")])
    assert dump_ast(t) == (
        'Tuple(\n    fields=[\n        Var(name_hint="a"),\n        Var(name_hint="b")\n    ]\n)'
    )
    assert dump_ast(t, indent_str="") == (
        'Tuple(\nfields=[\nVar(name_hint="a"),\nVar(name_hint="b")\n]\n)'
    )
    assert dump_ast(rx.Tuple([rx.Var("a")])) == 'Tuple(fields=[Var(name_hint="a")])'
    # what has lines of its own stands on them, also alone; arrays always do
    number, numbers = rx.const(1), rx.const([1, 2])
    plain = {"include_struct_info_annotations": False}
    assert dump_ast(number, **plain) == "Constant(data=1)"
    assert dump_ast(numbers, **plain) == "Constant(\n    data=[1 2]\n)"
    assert dump_ast(rx.Tuple([numbers]), indent_str="", **plain) == (
        "Tuple(\nfields=[\nConstant(\ndata=[1 2]\n)\n]\n)"
    )
    assert dump_ast(rx.ExternFunc("f")) == 'ExternFunc(global_symbol="f")'


def test_types_and_struct_info():
    printer = ASTPrinter(indent_str="")
    cases = {
        "ShapeType(ndim=1)": rx.ShapeType(1),
        "ObjectType()": rx.ObjectType(),
        "PackedFuncType()": rx.PackedFuncType(),
        "FuncType(arg_types=[TensorType(ndim=2,dtype=float32)],ret_type=TupleType(fields=[]))": (
            FuncType([rx.TensorType(2, "float32")], TupleType([]))
        ),
    }
    for text, node in cases.items():
        assert _squeeze(printer.visit_type_(node)) == text
    infos = {
        "PrimStructInfo(dtype=int32)": rx.PrimStructInfo("int32"),
        "ShapeStructInfo(ndim=-1)": rx.ShapeStructInfo(),
        "TensorStructInfo(dtype=float32,ndim=-1)": rx.TensorStructInfo(),
        "TensorStructInfo(dtype=int8,ndim=0)": rx.TensorStructInfo([], "int8"),
        "TupleStructInfo(fields=[ObjectStructInfo()])": (
            rx.TupleStructInfo([rx.ObjectStructInfo()])
        ),
        "FuncStructInfo(params=[],ret=ObjectStructInfo(),purity=True)": (
            rx.FuncStructInfo([], rx.ObjectStructInfo())
        ),
    }
    for text, info in infos.items():
        assert _squeeze(printer.visit_struct_info_(info)) == text
    shape = rx.Var("s", rx.ShapeStructInfo([]))
    assert _squeeze(printer.visit_struct_info_(rx.TensorStructInfo(shape, "int32"))) == (
        'TensorStructInfo(dtype=int32,shape=Var(name_hint="s",'
        "struct_info=ShapeStructInfo(ndim=0,values=[])))"
    )


def test_call_tir_and_shapes(plain):
    @R.function
    def f(x: R.Tensor(("m",), "float32")):
        m = T.int64()
        y = R.call_dps_packed("g", (x,), R.Tensor((m,), dtype="float32"))
        return y

    call = f.body.blocks[0].bindings[0].value
    text = plain(call)
    assert text in plain(f)
    assert text == (
        'Call(op=Op(name="relax.call_dps_packed"),args=[ExternFunc(global_symbol="g"),'
        'Tuple(fields=[Var(name_hint="x")])],sinfo_args=[TensorStructInfo(dtype=float32,'
        "shape=ShapeExpr(values=[PrimExpr(value=`m`)]))])"
    )


def test_refuses_what_is_no_part_of_a_program():
    with pytest.raises(TypeError, match="legal: an expression, a binding or a block"):
        dump_ast(3)
    with pytest.raises(ValueError, match="no struct info of Relax"):
        ASTPrinter().visit_struct_info_(None)

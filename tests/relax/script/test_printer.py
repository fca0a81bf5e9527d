"""Relax prints as TVMScript, node by node."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, tir
from tvm.ir import FuncType, IRModule, TupleType, VDevice, assert_structural_equal
from tvm.relax import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure
n = tir.Var("n", "int64")
tensor = TensorStructInfo((n, 4), "float32")
x = relax.Var("x", tensor)


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (ObjectStructInfo(), "R.Object"),
        (PrimStructInfo("int64"), 'R.Prim("int64")'),
        (PrimStructInfo(value=n + 1), "R.Prim(value=n + 1)"),
        (ShapeStructInfo([1, n]), "R.Shape([1, n])"),
        (ShapeStructInfo(ndim=3), "R.Shape(ndim=3)"),
        (ShapeStructInfo(), "R.Shape(ndim=-1)"),
        (tensor, 'R.Tensor((n, 4), dtype="float32")'),
        (TensorStructInfo((), "int8"), 'R.Tensor((), dtype="int8")'),
        (TensorStructInfo((2,), ""), "R.Tensor((2,))"),
        (TensorStructInfo(None, "float16", ndim=2), 'R.Tensor(dtype="float16", ndim=2)'),
        (TensorStructInfo(None, "float16"), 'R.Tensor(dtype="float16")'),
        (TensorStructInfo(None, "", ndim=2), "R.Tensor(ndim=2)"),
        (TensorStructInfo(None, ""), "R.Tensor"),
        (TensorStructInfo((2,), "int8", VDevice("llvm", 0, "global")),
         'R.Tensor((2,), dtype="int8", vdevice="llvm:0")'),
        (TupleStructInfo([ObjectStructInfo()]), "R.Tuple(R.Object)"),
        (TupleStructInfo([]), "R.Tuple"),
        (FuncStructInfo([tensor], ObjectStructInfo()),
         'R.Callable((R.Tensor((n, 4), dtype="float32"),), R.Object, True)'),
        (FuncStructInfo.opaque_func(ret=ObjectStructInfo()),
         "R.Callable"),
    ],
)  # fmt: skip
def test_struct_infos(info: Any, text: str) -> None:
    assert str(info) == text


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (relax.const(1, "int32"), 'R.const(1, "int32")'),
        (relax.const(0.1, "float32"), 'R.const(0.10000000149011612, "float32")'),
        (relax.const(True, "bool"), 'R.const(True, "bool")'),
        (relax.PrimValue(3), "R.prim_value(3)"),
        (relax.PrimValue(n * 2), "R.prim_value(n * 2)"),
        (relax.PrimValue(tir.FloatImm("float32", 0.5)), "R.prim_value(T.float32(0.5))"),
        (relax.PrimValue(0.5), "R.prim_value(T.float32(0.5))"),
        (relax.utils.convert_to_expr(float("inf")), 'R.prim_value(T.float64("inf"))'),
        (relax.ShapeExpr([1, n]), "R.shape([1, n])"),
        (relax.StringImm('a"b'), 'R.str("a\\"b")'),
        (relax.DataTypeImm("float16"), 'R.dtype("float16")'),
        (relax.ExternFunc("go"), 'R.ExternFunc("go")'),
        (relax.Tuple([x, x]), "(x, x)"),
        (relax.Tuple([x]), "(x,)"),
        (relax.Tuple([]), "R.tuple()"),
        (relax.TupleGetItem(relax.Tuple([x, x]), 1), "(x, x)[1]"),
        (relax.op.add(x, x), "R.add(x, x)"),
        (relax.op.nn.softmax(x, axis=1), "R.nn.softmax(x, axis=1)"),
        (relax.op.sum(x, [0], True), "R.sum(x, axis=[0], keepdims=True)"),
        (relax.op.astype(x, "float16"), 'R.astype(x, dtype="float16")'),
        (relax.op.print(x, format="{}"), 'R.print(x, format=R.str("{}"))'),
        (relax.op.assert_op(relax.const(True), [x], "bad {}"),
         'R.assert_op(R.const(True, "bool"), x, format=R.str("bad {}"))'),
        (relax.Call(relax.ExternFunc("go"), [x], None, [tensor]),
         'R.call_packed("go", x, sinfo_args=(R.Tensor((n, 4), dtype="float32"),))'),
        (relax.call_tir(relax.GlobalVar("f"), x, tensor),
         'R.call_tir(f, (x,), out_sinfo=R.Tensor((n, 4), dtype="float32"))'),
        (relax.call_tir(relax.GlobalVar("f"), [x, x], [tensor, tensor], tir_vars=[n]),
         'R.call_tir(f, (x, x), out_sinfo=[R.Tensor((n, 4), dtype="float32"), '
         'R.Tensor((n, 4), dtype="float32")], tir_vars=R.shape([n]))'),
        (relax.call_dps_packed("go", x, tensor),
         'R.call_dps_packed("go", (x,), out_sinfo=R.Tensor((n, 4), dtype="float32"))'),
        (relax.call_pure_packed("go", x, sinfo_args=tensor),
         'R.call_pure_packed("go", x, sinfo_args=(R.Tensor((n, 4), dtype="float32"),))'),
        (relax.call_tir_inplace(relax.GlobalVar("f"), x, 0, tensor),
         'R.call_tir_inplace(f, (x,), out_sinfo=R.Tensor((n, 4), dtype="float32"), '
         "inplace_indices=[0])"),
    ],
)  # fmt: skip
def test_expressions(expr: Any, text: str) -> None:
    assert str(expr) == text


def test_free_variables_are_declared_on_request() -> None:
    assert relax.op.add(x, x).script(verbose_expr=True) == (
        'n = T.int64()\nx: R.Tensor((n, 4), dtype="float32")\nR.add(x, x)'
    )


SOURCE = """\
@R.function(pure=False)
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), s: R.Shape(["n * 2"])):
    R.func_attr({"b": 1, "a": [2]})
    m = T.int64()
    y = R.match_cast(x, R.Tensor((m, 4), "float32"))
    if c:
        a = R.add(y, y)
        b = R.exp(a)
    else:
        b = y
    R.print(b, format="b")
    with R.dataflow():
        lv = R.add(b, b)
        gv = R.exp(lv)
        R.output(gv)
    @R.function
    def local(z: R.Tensor((4,), "int8")):
        return z
    return (gv, local)
"""
RESULT = "R.Tuple(R.Tensor((n, 4)"


def test_functions_as_a_whole() -> None:
    text = from_source(SOURCE, check_well_formed=False).script()
    head, _, rest = text.partition(") -> ")
    assert head == (
        "# from tvm.script import tir as T\n# from tvm.script import relax as R\n\n"
        "@R.function(pure=False)\n"
        'def main(x: R.Tensor(("n", 4), dtype="float32"), c: R.Tensor((), dtype="bool"), '
        's: R.Shape(["n * 2"])'
    )
    lines = rest.split("\n")[1:]
    assert lines == [
        "    n = T.int64()",
        '    R.func_attr({"a": [2], "b": 1})',
        "    m = T.int64()",
        '    y: R.Tensor((m, 4), dtype="float32") = R.match_cast(x, R.Tensor((m, 4), '
        'dtype="float32"))',
        "    if c:",
        '        a: R.Tensor((m, 4), dtype="float32") = R.add(y, y)',
        '        b_then: R.Tensor((m, 4), dtype="float32") = R.exp(a)',
        '        b: R.Tensor((m, 4), dtype="float32") = b_then',
        "    else:",
        '        b: R.Tensor((m, 4), dtype="float32") = y',
        '    R.print(b, format=R.str("b"))',
        "    with R.dataflow():",
        '        lv: R.Tensor((m, 4), dtype="float32") = R.add(b, b)',
        '        gv: R.Tensor((m, 4), dtype="float32") = R.exp(lv)',
        "        R.output(gv)",
        "    # from tvm.script import tir as T",
        "    # from tvm.script import relax as R",
        "    ",
        "    @R.function",
        '    def local(z: R.Tensor((4,), dtype="int8")) -> R.Tensor((4,), dtype="int8"):',
        "        return z",
        "",
        "    return (gv, local)",
    ]


def test_private_functions_say_so() -> None:
    func = from_source("@R.function(private=True)\ndef f(x: R.Object):\n    return x\n")
    assert "@R.function(private=True)\ndef main(x: R.Object) -> R.Object:" in func.script()
    head = "@R.function(pure=False, private=True)\n"
    impure = from_source(head + "def f(x: R.Object):\n    return x\n")
    assert head in impure.script()


def test_struct_infos_can_be_hidden_where_they_follow() -> None:
    text = "@R.function\ndef f(x: R.Tensor((4,), 'int8')):\n    y: R.Object = R.add(x, x)\n"
    func = from_source(text + "    z = R.add(x, x)\n    return z\n")
    lines = func.script(show_all_struct_info=False).split("\n")
    assert lines[-3:] == [
        "    y: R.Object = R.add(x, x)", "    z = R.add(x, x)", "    return z",
    ]  # fmt: skip


def test_devices_are_counted_by_kind() -> None:
    devices = [VDevice("llvm"), VDevice("cuda", 0), VDevice("cuda", 1)]
    v = relax.Var("v", TensorStructInfo((2,), "int8", devices[2]))
    body = relax.SeqExpr([], v)
    func = relax.Function([v], body, v.struct_info_, attrs={"global_symbol": "main"})
    mod = IRModule({"main": func}, global_infos={"vdevice": devices})
    assert 'def main(v: R.Tensor((2,), dtype="int8", vdevice="cuda:1"))' in mod.script()


def test_constants_of_one_module_share_the_metadata() -> None:
    a, b = (relax.const(np.full((2,), i, "float32")) for i in range(2))
    builder = relax.BlockBuilder()
    v = relax.Var("v", TensorStructInfo((2,), "float32"))
    with builder.function("main", [v]):
        first = builder.emit(relax.op.add(a, b))
        builder.emit_func_output(builder.emit(relax.op.add(first, a)))
    text = builder.get().script()
    used = [line.split("metadata")[1:] for line in text.split("\n") if "metadata[" in line]
    assert [part[23:26] for parts in used for part in parts] == ["[0]", "[1]", "[0]"]


def test_values_for_nothing_have_names_where_they_are_read() -> None:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.tuple()
            R.output(y)
        R.print(x, format="{}")
        t = (x, y)
        return t

    text = main.script()
    assert "y: R.Tuple = R.tuple()" in text
    assert "\n    R.print(" in text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), main)


def test_outside_functions_of_a_module_read_back() -> None:
    func = relax.Function([], relax.ShapeExpr([1]), relax.ShapeStructInfo([1]))
    mod = tvm.ir.IRModule({"mine": relax.ExternFunc("their_name"), "main": func})
    assert '    mine = R.ExternFunc("their_name")\n' in mod.script()
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)


def test_devices_without_a_module_say_their_memory() -> None:
    info = TensorStructInfo((2,), "int8", VDevice("cuda", 2, "shared"))
    assert str(info) == 'R.Tensor((2,), dtype="int8", vdevice="cuda:2:shared")'


def test_names_of_branches_are_free_after_them() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        if c:
            w = R.exp(x)
            z = R.sin(w)
        else:
            w = R.sin(x)
            z = R.exp(w)
        return z

    lines = [line.strip().split(":")[0] for line in main.script().split("\n")]
    assert lines[4:] == ["if c", "w", "z_then", "z", "else", "w", "z_else", "z", "return z"]
    assert_structural_equal(from_source(main.script()), main)


def test_numbers_among_options() -> None:
    @R.function
    def main(x: R.Tensor((2, 3, 4, 6), "float32")):
        a = R.nn.attention(x, x, x, scale=0.5)
        b = R.image.resize2d(a, R.shape([8, 8]))
        return R.layout_transform(b, lambda i, j, k, l: (i, j, k, l // 3, l % 3), pad_value=1)

    text = main.script()
    assert "scale=T.float32(0.5)" in text
    assert f"roi=[{', '.join(['T.float32(0.0)'] * 4)}]" in text
    assert "lambda i, j, k, l: (i, j, k, l // 3, l % 3)" in text
    assert "pad_value=R.prim_value(T.float32(1.0))" in text
    assert_structural_equal(from_source(text), main)


def test_attributes_of_packed_calls() -> None:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        return R.call_packed("f", x, sinfo_args=R.Object, k=True)

    text = main.script()
    assert 'R.call_packed("f", x, attrs_type_key="ir.DictAttrs", k=True, sinfo_args' in text
    assert_structural_equal(from_source(text), main)


def test_wishes_for_devices_read_back() -> None:
    @R.function(private=True)
    def main(x: R.Tensor((4,), "float32")):
        y = R.hint_on_device(x, tvm.cpu(1))
        return y

    assert "R.hint_on_device(x, R.device(device_type=1, index=1))" in main.script()
    tvm.ir.assert_structural_equal(tvm.script.from_source(main.script()), main)


def test_a_function_within_another_names_what_it_uses():
    @R.function
    def main(x: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        @R.function
        def nested(y: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            return y

        z = nested(x)
        return z

    assert main.script() == """# from tvm.script import relax as R

@R.function
def main(x: R.Tensor((), dtype="int32")) -> R.Tensor((), dtype="int32"):
    # from tvm.script import relax as R
    
    @R.function
    def nested(y: R.Tensor((), dtype="int32")) -> R.Tensor((), dtype="int32"):
        return y

    z: R.Tensor((), dtype="int32") = nested(x)
    return z"""
    assert_structural_equal(from_source(main.script()), main)


def test_types_as_they_stand_in_relax():
    pair = TupleType([relax.ShapeType(3), relax.ObjectType()])
    assert pair._relax_script() == "R.Tuple(R.Shape(ndim=3), R.Object)"
    assert TupleType([])._relax_script() == "R.Tuple"
    assert FuncType([relax.ObjectType()], relax.TensorType(2, "int8"))._relax_script() == (
        'R.Callable((R.Object,), R.Tensor(ndim=2, dtype="int8"))'
    )
    assert pair.script().startswith("T.Tuple(")


def test_free_variables_are_declared_where_they_are_needed() -> None:
    k, m = tir.Var("k", "int64"), tir.Var("m", "int64")
    v = relax.Var("v", relax.TensorStructInfo((3,), "int8"))
    w = relax.Var("w", relax.TensorStructInfo((3,), "int8"))
    c = relax.Var("c", relax.TensorStructInfo((), "bool"))
    g = tvm.ir.GlobalVar("g")
    info = relax.TensorStructInfo((3,), "int8")
    call = relax.op.call_tir_with_grad(g, (v,), info, te_grad_name="f", te_grad_kwargs={"k": k})
    lines = call.script(verbose_expr=True).splitlines()
    assert lines[:2] == ['v: R.Tensor((3,), dtype="int8")', "k = T.int64()"]
    call = relax.op.call_tir_inplace(g, (v,), [0], info, tir_vars=[k, m])
    lines = call.script(verbose_expr=True).splitlines()
    assert lines[:3] == ['v: R.Tensor((3,), dtype="int8")', "k = T.int64()", "m = T.int64()"]
    assert relax.If(c, v, w).script(verbose_expr=True) == """\
c: R.Tensor((), dtype="bool")
if c:
    v: R.Tensor((3,), dtype="int8")
    v
else:
    w: R.Tensor((3,), dtype="int8")
    w"""


def test_parts_of_programs_declare_what_they_read_in_the_order_of_need() -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n], "int8"))
    y = relax.Var("y", relax.TensorStructInfo([n, 4], "int8"))
    z = relax.Var("z", y.struct_info)
    w = relax.Var("w", x.struct_info)
    c = relax.Var("c", relax.TensorStructInfo((), "bool"))
    assert relax.MatchCast(z, x, y.struct_info).script() == """\
n = T.int64()
x: R.Tensor((n,), dtype="int8")
z: R.Tensor((n, 4), dtype="int8") = R.match_cast(x, R.Tensor((n, 4), dtype="int8"))"""
    block = relax.BindingBlock([relax.VarBinding(w, relax.op.abs(x))])
    assert relax.If(c, relax.SeqExpr([block], y), x).script() == """\
c: R.Tensor((), dtype="bool")
n = T.int64()
if c:
    x: R.Tensor((n,), dtype="int8")
    w: R.Tensor((n,), dtype="int8") = R.abs(x)
    y: R.Tensor((n, 4), dtype="int8")
    y
else:
    x: R.Tensor((n,), dtype="int8")
    x"""
    inner = relax.Function([x], x, x.struct_info)
    f = relax.Var("f", inner.struct_info)
    seq = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(f, inner)])], y)
    assert "@R.function\ndef f(x" in seq.script()
    assert seq.script().endswith('y: R.Tensor((n, 4), dtype="int8")\ny')
    unknown = relax.VarBinding(relax.Var("v", relax.ObjectStructInfo()), relax.Var("u"))
    assert unknown.script() == "u: None\nv: R.Object = u"


def test_a_packed_function_is_any_function() -> None:
    func = relax.ExternFunc("f")
    var = relax.Var("f", func.struct_info)
    assert relax.VarBinding(var, func).script() == 'f: R.Callable = R.ExternFunc("f")'


def test_annotations_that_are_found_again_may_be_left_out() -> None:
    @R.function
    def func(x: R.Tensor((3,), "float32"), y: R.Tensor(ndim=1, dtype="float32")):
        n = T.int64()
        a = R.add(x, x)
        b = R.match_cast(y, R.Tensor((n,), "float32"))
        c: R.Object = R.exp(x)
        d = c
        e = (a, b)
        g = e[1]
        return (d, g)

    text = func.script(show_all_struct_info=False)
    for line in ("a = R.add(x, x)", "b = R.match_cast(y, ", "c: R.Object = R.exp(x)", "d = c",
                 "e = a, b", "g = e[1]"):  # fmt: skip
        assert f"    {line}" in text
    assert_structural_equal(from_source(text), func)


def test_a_function_of_tir_among_operands() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)

    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    func = relax.Function([x], relax.Tuple([kernel, x]), relax.ObjectStructInfo())
    assert '(metadata["tir.PrimFunc"][0], x)' in func.script()
    assert not relax.analysis.well_formed(tvm.IRModule({"main": func}))


def test_types_of_others_print_as_relax_before_anything_else_did() -> None:
    """Rules are loaded with the first node that needs them: each order has to give the same."""
    program = (
        "from tvm import ir\n"
        "print(ir.TupleType([ir.PrimType('int32')])._relax_script())\n"
        "print(ir.TupleType([ir.PrimType('int32')]).script())"
    )
    command = [sys.executable, "-c", program]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["R.Tuple(T.int32)", "T.Tuple(T.int32)"]


@pytest.mark.parametrize("rewrite", ["CallTIRRewrite", "KillAfterLastUse"])
def test_outputs_of_a_block_that_hold_nothing_have_names(rewrite: str) -> None:
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def k(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
            for i in range(4):
                b[i] = a[i]

        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            cls = Mod
            if c:
                with R.dataflow():
                    a = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((4,), "float32"))
                    b = R.call_tir(cls.k, (a,), out_sinfo=R.Tensor((4,), "float32"))
                    R.output(b)
                r = b
            else:
                r = x
            return r

    after = getattr(relax.transform, rewrite)()(Mod)
    text = after.script()
    assert "R.tuple()" not in text
    assert_structural_equal(tvm.script.from_source(text, check_well_formed=False), after)


def test_results_of_functions_are_told_in_any_case() -> None:
    @R.function(pure=False)
    def func(x: R.Tensor((2,), "float32"), f: R.Callable([R.Object], R.Tensor((2,), "float32"))):
        a = R.exp(x)
        b = f(a)
        c = R.call_packed("q", b, sinfo_args=R.Tensor((2,), "float32"))
        return c

    text = func.script(show_all_struct_info=False)
    assert "a = R.exp(x)" in text
    assert 'b: R.Tensor((2,), dtype="float32") = f(a)' in text
    assert 'c: R.Tensor((2,), dtype="float32") = R.call_packed("q", b' in text


def test_axes_are_told_one_by_one_without_sugar() -> None:
    @T.prim_func
    def kernel(a: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = T.float32(0)

    text = kernel.script(syntax_sugar=False)
    assert "vi = T.axis.spatial(2, i)" in text
    assert "remap" not in text
    assert '# with T.block("root")' in kernel.script(tir_prefix="X")


def test_sizes_are_declared_in_the_order_of_the_result() -> None:
    @I.ir_module
    class Module:
        @R.function
        def rest(x: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
            return x

        @R.function
        def main(
            x: R.Tensor(("n", 5), "float32"), y: R.Tensor(("m", "n"), "float32")
        ) -> R.Tensor(("m", "n"), "float32"):
            cls = Module
            q = T.int64()
            z = R.match_cast(cls.rest(R.sum(x, axis=1)), R.Tensor((q,), "float32"))
            return y

    lines = [line.strip() for line in Module["main"].script().splitlines()]
    sizes = [line for line in lines if line.endswith("T.int64()")]
    assert sizes == ["m = T.int64()", "n = T.int64()", "q = T.int64()"]
    # what only the body has comes behind the module's name
    whole = [line.strip() for line in Module.script().splitlines()]
    at = whole.index("m = T.int64()")
    assert whole[at : at + 4] == ["m = T.int64()", "n = T.int64()", "cls = Module", "q = T.int64()"]

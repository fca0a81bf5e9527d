"""Relay as text: what is printed reads back as the same program."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import DiagnosticError
from tvm.relay.text_parser import parse_untyped

pytestmark = pytest.mark.pure
HEAD = '#[version = "0.0.5"]\n'


def roundtrip(expr: Any) -> None:
    again = relay.parse_expr(expr.astext())
    tvm.ir.assert_structural_equal(again, expr, map_free_vars=True)


def same(text: str, expr: Any) -> None:
    found = relay.parse_expr(text)
    tvm.ir.assert_structural_equal(found, expr, map_free_vars=True)
    roundtrip(found)


def test_a_graph_is_numbered() -> None:
    x = relay.var("x", shape=(3, 2))
    y = relay.add(x, relay.const(1.5))
    func = relay.Function([x], relay.multiply(y, y))
    assert func.astext() == HEAD + (
        "fn (%x: Tensor[(3, 2), float32]) {\n"
        "  %0 = add(%x, 1.5f);\n"
        "  multiply(%0, %0)\n"
        "}"
    )
    roundtrip(func)


def test_types_stand_in_comments() -> None:
    x = relay.var("x", shape=(2,))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    assert mod.astext() == HEAD + (
        "def @main(%x: Tensor[(2), float32] /* ty=Tensor[(2), float32] */)"
        " -> Tensor[(2), float32] {\n"
        "  exp(%x) /* ty=Tensor[(2), float32] */\n"
        "}\n"
    )
    assert HEAD + str(mod) == mod.astext()


def test_the_version_is_in_astext_alone() -> None:
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.add(x, relay.const([1.0, 2.0])))
    mod = tvm.IRModule.from_expr(func)
    shown = "(%x: Tensor[(2), float32]) {\n  add(%x, meta[relay.Constant][0])\n}"
    assert str(func) == f"fn {shown}\n"
    assert str(mod) == f"def @main{shown}\n\n"
    omitted = (
        "/* For debugging purposes the metadata section has been omitted.\n"
        " * If you would like to see the full metadata section you can set the \n"
        " * option to `True` when invoking `astext`. \n */"
    )
    assert mod.astext(show_meta_data=False) == f"{HEAD}{mod}{omitted}"
    assert str(relay.const(42, "int16")) == "42i16"


def test_lines_stand_before_the_first_who_needs_them() -> None:
    """The parts of an operand come before the operands that stand left of it."""
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    right = relay.multiply(relay.add(y, y), relay.const(2.0))
    func = relay.Function([x, y], relay.subtract(relay.exp(x), right))
    assert str(func) == (
        "fn (%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {\n"
        "  %0 = add(%y, %y);\n"
        "  %1 = exp(%x);\n"
        "  %2 = multiply(%0, 2f);\n"
        "  subtract(%1, %2)\n"
        "}"
    )
    roundtrip(func)


def test_names_go_to_the_callee_before_the_operands() -> None:
    def square(of: Any) -> Any:
        p = relay.var("p", shape=(2,))
        return relay.Call(relay.Function([p], relay.multiply(p, p)), [of])

    x = relay.var("x", shape=(2,))
    func = relay.Function([x], square(square(x)))
    lines = str(func).splitlines()
    assert lines[1] == "  %0 = fn (%p1: Tensor[(2), float32]) {"
    assert lines[5] == "  %2 = fn (%p: Tensor[(2), float32]) {"
    roundtrip(func)


def test_constants_count() -> None:
    c = relay.const(1)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.add(c, c)))
    assert mod.astext().count("/* ty=int32 */") == 3


def test_names() -> None:
    assert "%v1" in relay.var("1").astext()
    x, y = relay.var("x"), relay.var("x")
    assert "%x1" in relay.add(x, y).astext()


def test_free_variables_come_first() -> None:
    assert relay.var("x", "int32").astext() == HEAD + "free_var %x: int32;\n%x"


def test_only_stated_attributes_are_shown() -> None:
    x = relay.var("x", shape=(2, 3))
    assert "softmax(%x)" in relay.nn.softmax(x).astext()
    assert "axis=1" in relay.nn.softmax(x, axis=1).astext()


def test_tensors_stand_in_the_metadata() -> None:
    expr = relay.const(np.arange(3, dtype="float32"))
    assert "meta[relay.Constant][0]" in expr.astext()
    assert "metadata" in expr.astext()
    assert "metadata section has been omitted" in expr.astext(show_meta_data=False)
    roundtrip(expr)


def test_symbolic_extents_stand_in_the_metadata() -> None:
    n = tvm.tir.Var("n", "int32")
    x = relay.var("x", shape=(n, 3))
    text = relay.Function([x], x).astext()
    assert "meta[tir.Var][0]" in text
    roundtrip(relay.Function([x], x))


def test_annotations_of_the_user() -> None:
    x = relay.var("x")
    text = relay.add(x, x).astext(annotate=lambda e: type(e).__name__)
    assert "add(%x, %x) /* Call */" in text


def test_conditionals_and_lets() -> None:
    x, y, cond = relay.var("x", "float32"), relay.var("y", "float32"), relay.var("cond", "bool")
    sb = relay.ScopeBuilder()
    with sb.if_scope(cond):
        v1 = sb.let("v", relay.const(1, "float32"))
        v2 = sb.let("v", x)
        sb.ret(relay.subtract(v1, v2))
    with sb.else_scope():
        v3 = relay.var("v")
        let2 = relay.Let(v3, y, v3)
        sb.ret(relay.add(let2, let2))
    func = relay.Function([x, y, cond], sb.get())
    text = func.astext()
    assert text.count("{") == 3
    assert "%cond: bool" in text
    roundtrip(func)


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("1", 1, "int32"), ("10i64", 10, "int64"), ("7u8", 7, "uint8"), ("1.0f", 1, "float32"),
        ("1e-1f", 0.1, "float32"), ("2f16", 2, "float16"), ("3f64", 3, "float64"),
        ("True", True, "bool"), ("-5", -5, "int32"), ("--10", 10, "int32"),
        ("1e+10f", 1e10, "float32"), ("-inff", -np.inf, "float32"),
        ("inf", np.inf, "float32"), ("-inf", -np.inf, "float32"), ("inff64", np.inf, "float64"),
    ],
)  # fmt: skip
def test_literals(text: str, value: Any, dtype: str) -> None:
    found = relay.parse_expr(text)
    assert isinstance(found, relay.Constant)
    assert str(found.data.dtype) == dtype
    np.testing.assert_allclose(found.data.numpy(), np.array(value, dtype))
    roundtrip(found)


@pytest.mark.parametrize(
    ("sign", "op"),
    [("*", relay.multiply), ("/", relay.divide), ("+", relay.add), ("-", relay.subtract),
     ("<", relay.less), (">", relay.greater), ("<=", relay.less_equal),
     (">=", relay.greater_equal), ("==", relay.equal), ("!=", relay.not_equal)],
)  # fmt: skip
def test_infix(sign: str, op: Any) -> None:
    same(f"1 {sign} 1", op(relay.const(1), relay.const(1)))


def test_attributes_without_bounds() -> None:
    for text, wanted in (("inf", np.inf), ("inff", np.inf), ("-inf", -np.inf), ("1.5f", 1.5)):
        found = relay.parse_expr(f"clip(1f, a_min={text}, a_max=2f)")
        assert found.attrs.a_min == wanted


def test_precedence() -> None:
    def equal(a: str, b: str) -> bool:
        return bool(tvm.ir.structural_equal(relay.parse_expr(a), relay.parse_expr(b)))

    assert equal("1 * 1 + 1", "(1 * 1) + 1")
    assert not equal("1 * 1 + 1", "1 * (1 + 1)")
    assert equal("1 == 1 < 1 + 1 * 1", "1 == (1 < (1 + (1 * 1)))")
    assert equal("1 - 1 - 1", "(1 - 1) - 1")


def test_forms() -> None:
    unit = relay.Tuple([])
    x = relay.Var("x")
    same("()", unit)
    same("(0,)", relay.Tuple([relay.const(0)]))
    same("(0, 1)", relay.Tuple([relay.const(0), relay.const(1)]))
    same("let %x = 1; ()", relay.Let(x, relay.const(1), unit))
    same("(); ()", relay.Let(relay.Var("_"), unit, unit))
    same("fn (%x) { %x }", relay.Function([x], x))
    same("fn () -> int32 { 0 }", relay.Function([], relay.const(0), relay.scalar_type("int32")))
    same("fn (n=5) { () }", relay.Function([], unit, attrs=tvm.ir.DictAttrs({"n": 5})))
    same(
        "if (True) { 0 } else { 1 }", relay.If(relay.const(True), relay.const(0), relay.const(1))
    )
    same("%0 = (); %1 = 1; (%0, %0, %1)", relay.Tuple([unit, unit, relay.const(1)]))
    same("free_var %x: (int32, int32); %x.0", relay.TupleGetItem(
        relay.Var("x", relay.TupleType([relay.scalar_type("int32")] * 2)), 0))  # fmt: skip
    same("ref(1)", relay.RefCreate(relay.const(1)))
    assert isinstance(relay.parse_expr("@f"), relay.GlobalVar)
    assert isinstance(relay.parse_expr("nn.global_avg_pool2d"), tvm.ir.Op)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("int32", relay.scalar_type("int32")),
        ("Tensor[(), float32]", relay.TensorType((), "float32")),
        ("Tensor[(1), float32]", relay.TensorType((1,), "float32")),
        ("Tensor[(?, 2), float32]", relay.TensorType((relay.Any(), 2), "float32")),
        ("()", relay.TupleType([])),
        ("(int32,)", relay.TupleType([relay.scalar_type("int32")])),
        ("fn (int32) -> bool", relay.FuncType(
            [relay.scalar_type("int32")], relay.scalar_type("bool"))),
        ("ref(int32)", relay.RefType(relay.scalar_type("int32"))),
    ],
)  # fmt: skip
def test_types(text: str, found: Any) -> None:
    expr = relay.parse_expr(f"let %_: {text} = (); ()")
    assert expr.var.type_annotation == found
    assert relay.pretty_print(found) == text.replace("Tensor[(), float32]", "float32")


LISTS = HEAD + """
type List[A] {
  Cons(A, List[A]),
  Nil,
}

def @length[A](%xs: List[A]) -> int32 {
  match (%xs) {
    Cons(_, %rest) => add(1, @length(%rest)),
    Nil => 0,
  }
}
"""


def test_references_and_clauses_print_in_full() -> None:
    r = relay.Var("r")
    written = str(relay.Function([r], relay.RefWrite(r, relay.RefRead(r))))
    assert "%0 = ref_read(%r);\n  ref_write(%r, %0)" in written
    assert "Nil => {\n      0 " in str(relay.parse(LISTS))
    assert relay.parse(HEAD + "def @main(%r) { (%r := %r^) }")["main"].body.value.ref is not None


def test_data_types_read_and_print() -> None:
    mod = relay.parse(LISTS)
    again = relay.parse(mod.astext())
    tvm.ir.assert_structural_equal(mod, again)
    names = [c.name_hint for c in mod.get_type("List")[1:]]
    assert names == ["Cons", "Nil"]


def test_definitions_name_their_type_variables() -> None:
    text = """type Pair[A, B] {
  Both(A, B),
}

def @apart[B, A]() -> fn (A, B) -> Pair[A, B] {
  Both
}

def @main[A]() -> fn (A, A) -> Pair[A, A] {
  Both
}
"""
    mod = relay.parse(HEAD + text)
    assert mod.astext(show_meta_data=False) == HEAD + text
    tvm.ir.assert_structural_equal(mod, relay.parse(mod.astext()))
    outer, inner = relay.TypeVar("A"), relay.TypeVar("A")
    x, y = relay.Var("x", outer), relay.Var("y", inner)
    body = relay.Function([y], x, outer, [inner])
    nested = relay.Function([x], body, None, [outer]).astext()
    assert "fn [A](%x: A)" in nested
    assert "fn [A1](%y: A1) -> A" in nested


def test_modules_keep_their_calls() -> None:
    mod = relay.parse(HEAD + "def @id(%x: int32) -> int32 { @id(%x) }")
    assert mod["id"].body.op is mod.get_global_var("id")


def test_places_are_kept() -> None:
    expr = relay.parse_expr("add(1,\n 2)")
    assert (expr.span.line, expr.span.column) == (1, 1)
    assert (expr.args[1].span.line, expr.args[1].span.column) == (2, 2)


def test_comments_are_passed_over() -> None:
    same("1 // one", relay.const(1))
    same("/* a /* b */ c */ 1", relay.const(1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("meta[type_key][1337]", "is not in the metadata"),
        ("let @x = 1; ()", "a local variable"),
        ("%1 = (); %0", "%0 is not defined here"),
        ("%x", "the variable %x is not known here"),
        ("no_such_op(1)", "no_such_op is not known"),
        ("nn.softmax(1, wrong=2)", "has no field 'wrong'"),
        ("if (True) { let %a = 1; %a } else { %a }", "%a is not known"),
        ("(1", "expected"),
        ("1 ` 2", "an unknown character"),
        ("99999999999999999999i64", "is no int64"),
        ("300u8", "is no uint8"),
        ("1i99", "is no int99"),
        ("fn (%x: Tensor[(inf,), float32]) { %x }", "inf is no extent"),
        ("fn (%x: Tensor[(1.5,), float32]) { %x }", "1.5 is no extent"),
        ("fn (%x: Tensor[(1,), moon32]) { %x }", "unknown data type"),
        ("/* x", "a comment without an end"),
    ],
)
def test_errors_show_the_place(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as caught:
        relay.parse_expr(text)
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def @f() { 1 }", "the version of the format is missing"),
        ('#[version = "0.1"]\n', "is not known"),
        (HEAD + "def @f() { 1 } def @f() { 1 }", "a second definition of @f"),
        (HEAD + "type A { B } type A { C }", "a second definition of the type A"),
        (HEAD + "type A { B, B }", "a second constructor B"),
        (HEAD + "x", "expected a definition"),
        (HEAD + "def @f(%x: Foo) { %x }", "the type constructor `Foo` is undefined"),
    ],
)
def test_errors_of_modules(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        relay.parse(text)


def test_types_of_modules() -> None:
    text = HEAD + "type Box[A] { Wrap(A) }\n"
    mod = relay.parse(text)
    assert str(mod).startswith("type Box[A] {")
    box = mod.get_global_type_var("Box")
    assert str(box(relay.TupleType([relay.TensorType((2,))]))) == "Box[(Tensor[(2), float32],)]"
    made = relay.parse(text + "def @f(%x: Box[int], %y: float) { %y }")["f"]
    assert made.params[0].type_annotation == box(relay.scalar_type("int32"))
    assert made.params[1].type_annotation == relay.scalar_type("float32")


def test_long_programs() -> None:
    x = relay.var("x", shape=(2,))
    y: Any = x
    for _ in range(5000):
        y = relay.add(y, x)
    func = relay.Function([x], y)
    roundtrip(func)
    lets: Any = relay.var("v0")
    for at in range(3000):
        lets = relay.Let(relay.var(f"v{at}"), relay.const(at), lets)
    roundtrip(lets)


def test_fromtext_reads_both() -> None:
    assert isinstance(relay.fromtext(LISTS), tvm.IRModule)
    assert isinstance(relay.fromtext(HEAD + "1"), relay.Constant)


def test_a_minus_before_no_number() -> None:
    body = "def @main(%x: Tensor[(1, 8), float32]) { nn.softmax(%x, axis=-a) }"
    with pytest.raises(DiagnosticError, match="a minus stands before no number"):
        relay.fromtext(f'#[version = "0.0.5"]\n{body}\n')


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: relay.nn.dense(x, x), "nn.dense(%x, %x, units=None)"),
        (lambda x: relay.nn.matmul(x, x), "nn.matmul(%x, %x, units=None)"),
        (lambda x: relay.strided_slice(x, [0], [1]),
         "strided_slice(%x, begin=[0], end=[1], strides=[1], axes=None)"),
        (lambda x: relay.topk(x).tuple_value, 'topk(%x, k=1, dtype="int32")'),
        (lambda x: relay.argsort(x), 'argsort(%x, dtype="int32")'),
        (lambda x: relay.sort(x), "sort(%x)"),
        (lambda x: relay.nn.max_pool1d(x), "nn.max_pool1d(%x, pool_size=[1], padding=[0, 0])"),
        (lambda x: relay.image.resize1d(x, 4),
         'image.resize1d(%x, size=[4], roi=[0f, 0f], rounding_method="")'),
        (lambda x: relay.nn.contrib_dense_pack(x, x, "NC8n", out_dtype="float32"),
         'nn.contrib_dense_pack(%x, %x, units=None, out_dtype="float32", weight_layout="NC8n")'),
    ],
)  # fmt: skip
def test_options_that_have_no_default_are_printed(call: Any, text: str) -> None:
    printed = str(call(relay.Var("x")))
    assert text in printed
    assert text in str(relay.parse_expr(f"fn (%x) {{ {text} }}"))


def test_braces_hold_an_expression() -> None:
    head = '#[version = "0.0.5"]\n'
    alone = relay.parse_expr(head + "{ let %x = 1; %x }")
    tvm.ir.assert_structural_equal(alone, relay.parse_expr(head + "let %x = 1; %x"), True)
    inner = relay.parse_expr(head + "add({ let %x = 1; %x }, { %0 = 2; (%0, %0) }.1)")
    assert isinstance(inner.args[0], relay.Let)
    assert isinstance(inner.args[1], relay.TupleGetItem)
    with pytest.raises(tvm.error.DiagnosticError, match="x"):
        relay.parse_expr(head + "add({ let %x = 1; %x }, %x)")


@pytest.mark.parametrize(
    "text",
    [
        "scatter_elements(%x, %i, %x)", "scatter_nd(%x, %i, %x)", "topk(%x, k=2)", "argsort(%x)",
        "full(1f, shape=[2, 3])", "zeros(shape=[2, 3])", "reverse(%x, axis=0)", "unique(%x)",
        "one_hot(%i, 1f, 0f, depth=3)", "searchsorted(%x, %x)", "nn.fifo_buffer(%x, %x)",
        "stft(%x, %x, n_fft=4)", "take(%x, %i, batch_dims=1, axis=1)", "shape_of(%x)",
        "strided_slice(%x, begin=[0], end=[1], strides=[1], slice_mode=\"size\", axes=None)",
        "nn.l2_normalize(%x, eps=0.1f, axis=None)", "slice_like(%x, %x, axes=None)",
        "cumsum(%x, axis=0, exclusive=None)", "nn.correlation(%x, %x, max_displacement=4)",
        "image.crop_and_resize(%x, %x, %i, crop_size=[3, 3])", "argmax(%x, select_last_index=True)",
        "nn.nll_loss(%x, %i, %x, ignore_index=-100)", "vision.yolo_reorg(%x)",
        "qnn.quantize(%x, 1f, 0, out_dtype=\"int8\", axis=0)",
        "nn.mirror_pad(%x, pad_width=[[1, 1]])", "nn.space_to_depth(%x, block_size=2, mode=\"\")",
        "nn.conv2d_transpose(%x, %x, channels=6, kernel_size=[3, 3], strides=[2, 2])",
    ],
)  # fmt: skip
def test_options_at_their_defaults_may_be_left_out(text: str) -> None:
    head = "def @main(%x: Tensor[(2, 4), float32], %i: Tensor[(2, 4), int32]) "
    printed = parse_untyped(f"{HEAD}{head}{{ {text} }}", "text", tvm.IRModule()).astext()
    assert text in re.sub(r" /\*.*?\*/", "", printed)


def test_modules_are_read_with_their_types() -> None:
    mod = relay.fromtext(f"{HEAD}def @f(%x: int32) {{ (%x + 1, True) }}")
    assert str(mod["f"].ret_type) == "(int32, bool)"
    assert mod["f"].body.checked_type == mod["f"].ret_type
    with pytest.raises(tvm.error.DiagnosticError):
        relay.fromtext(f"{HEAD}def @f(%x: int32) {{ add(%x) }}")


def test_one_padding_for_both_sides() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    conv = relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3), padding=(1, 2))
    params = "%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]"
    call = "nn.conv2d(%x, %w, padding=[1, 2], channels=4, kernel_size=[3, 3])"
    mod = relay.fromtext(f"{HEAD}def @main({params}) {{ {call} }}")
    assert tuple(mod["main"].body.attrs.padding) == (1, 2, 1, 2)
    made = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], conv)))
    tvm.ir.assert_structural_equal(mod, made)


def test_older_names_say_what_takes_their_place() -> None:
    with pytest.warns(DeprecationWarning, match=r"use tvm\.relay\.parse_expr instead"):
        made = tvm.parser.parse_expr("add(1, 2)")
    assert made.op.name == "add"


def test_names_of_functions_and_operators_have_a_text() -> None:
    assert relay.GlobalVar("f").astext() == '#[version = "0.0.5"]\n@f'
    assert relay.op.get("nn.relu").astext() == '#[version = "0.0.5"]\nnn.relu'


def test_nodes_of_one_scope_are_known_in_the_next() -> None:
    """Both branches, and what follows them, may share a node: it stands where it is met first."""
    cond, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(3,))
    y = relay.exp(x)
    body = relay.If(cond, relay.add(y, x), relay.log(y)) + y
    mod = tvm.IRModule.from_expr(relay.Function([cond, x], body))
    read = tvm.relay.fromtext(mod.astext())
    tvm.ir.assert_structural_equal(read, relay.transform.InferType()(mod))
    found = read["main"].body
    assert found.args[1].same_as(found.args[0].true_branch.args[0])


def test_constants_are_numbered_as_they_are_met() -> None:
    """Left operands first, although the lines of right ones stand before."""
    one, two = relay.const([1.0, 1.0]), relay.const([2.0, 2.0])
    func = relay.Function([], relay.add(one, relay.exp(two)))
    text = func.astext(show_meta_data=False)
    assert "%0 = exp(meta[relay.Constant][1]);\n  add(meta[relay.Constant][0], %0)" in text


def test_attributes_that_do_not_fit_are_attribute_errors() -> None:
    """They are diagnostics, too: the place is in the message."""
    for call in ("nn.softmax(%x, axs=1)", "strided_slice(%x, begin=[0], end=[1])"):
        with pytest.raises(AttributeError, match="from_string:2") as told:
            relay.fromtext(f"{HEAD}def @main(%x: Tensor[(2), float32]) {{ {call} }}")
        assert isinstance(told.value, DiagnosticError)


def test_a_type_that_nobody_gave_is_empty() -> None:
    mod = relay.fromtext(f"{HEAD}def @main(%x: Tensor[(2, 3), float32]) {{ shape_of(%x) }}")
    assert "-> Tensor[(2), ]" in mod.astext()

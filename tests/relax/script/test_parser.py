"""Statements of Relax are read as TVM reads them."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import DiagnosticError
from tvm.ir import assert_structural_equal, structural_hash
from tvm.relax.script.parser import enter_token, exit_token
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.script.ir_builder.base import IRBuilder
from tvm.script.parser.core.diagnostics import Source
from tvm.script.parser.core.parser import Parser

pytestmark = pytest.mark.pure
SIGNATURE = (
    'x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool"), t: R.Tuple(R.Object, R.Tensor)'
)


def read(text: str, signature: str = SIGNATURE, pure: bool = True) -> relax.Function:
    body = "\n".join(f"    {line}" for line in text.strip("\n").split("\n"))
    head = f"@R.function(pure={pure})\ndef main({signature}):\n"
    func: relax.Function = from_source(head + body + "\n", check_well_formed=False)
    return func


def lines(text: str, pure: bool = True) -> list[str]:
    shown = read(text, pure=pure).script().split("\n")
    start = next(i for i, line in enumerate(shown) if line.startswith("def main"))
    return [line[4:] for line in shown[start + 1 :] if "T.int64()" not in line]


TENSOR = 'R.Tensor((n, 4), dtype="float32")'


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("y = R.add(x, x)\nreturn y", [f"y: {TENSOR} = R.add(x, x)", "return y"]),
        ("return x + x", [f"gv: {TENSOR} = R.add(x, x)", "return gv"]),
        ("y = x\nreturn y", [f"y: {TENSOR} = x", "return y"]),
        ("y: R.Object = R.exp(x)\nreturn y", ["y: R.Object = R.exp(x)", "return y"]),
        ("y = t[1]\nreturn y", ["y: R.Tensor = t[1]", "return y"]),
        ("y = (x, x)\nreturn y[0]",
         [f"y: R.Tuple({TENSOR}, {TENSOR}) = x, x", f"gv1: {TENSOR} = y[0]", "return gv1"]),
        ("n = T.int64()\ny = R.prim_value(n + 1)\nreturn y",
         ["y: R.Prim(value=n + 1) = R.prim_value(n + 1)", "return y"]),
        ("y = R.reshape(x, (4, -1)) if 1 > 2 else R.exp(x)\nreturn y",
         [f"y: {TENSOR} = R.exp(x)", "return y"]),
        ("return R.tuple()", ["return R.tuple()"]),
        ("return (x, R.exp(x))", [f"gv: {TENSOR} = R.exp(x)", "return (x, gv)"]),
    ],
)  # fmt: skip
def test_bindings(text: str, printed: list[str]) -> None:
    assert lines(text) == printed


def test_effects_stand_as_statements() -> None:
    assert lines('R.print(x, format="{}")\nreturn x', pure=False) == [
        'R.print(x, format=R.str("{}"))', "return x",
    ]  # fmt: skip


def test_dataflow_outputs_are_seen_outside() -> None:
    func = read(
        "with R.dataflow():\n    a = R.exp(x)\n    b = R.exp(a)\n    R.output(a, b)\nreturn (a, b)"
    )
    (block,) = func.body.blocks
    assert isinstance(block, relax.expr.DataflowBlock)
    assert [type(b.var) for b in block.bindings] == [relax.Var, relax.Var]
    mixed = read(
        "with R.dataflow():\n    a = R.exp(x)\n    b = R.exp(a)\n    R.output(b)\nreturn b"
    )
    assert isinstance(mixed.body.blocks[0].bindings[0].var, relax.DataflowVar)
    assert mixed.body.body is mixed.body.blocks[0].bindings[1].var


def test_blocks_are_split_by_dataflow() -> None:
    func = read(
        "a = R.exp(x)\nwith R.dataflow():\n    b = R.exp(a)\n    R.output(b)\n"
        "d = R.exp(b)\nreturn d"
    )
    kinds = [type(block).__name__ for block in func.body.blocks]
    assert kinds == ["BindingBlock", "DataflowBlock", "BindingBlock"]


def test_choices_give_their_last_binding() -> None:
    func = read("if c:\n    y = R.exp(x)\nelse:\n    z = R.add(x, x)\n    y = z\nreturn y")
    binding = func.body.blocks[0].bindings[0]
    assert binding.var.name_hint == "y"
    assert isinstance(binding.value, relax.If)
    assert len(binding.value.true_branch.blocks[0].bindings) == 1
    assert len(binding.value.false_branch.blocks[0].bindings) == 1
    assert_structural_equal(from_source(func.script(), check_well_formed=False), func)


def test_symbols_of_signatures_take_their_declared_kind() -> None:
    func = read("n = T.int64(is_size_var=True)\nreturn x", 'x: R.Tensor(("n", "n + 1"), "int8")')
    size = func.params[0].struct_info_.shape.values[0]
    assert type(size).__name__ == "SizeVar"
    again = from_source(func.script())
    assert_structural_equal(func, again)


def test_local_functions_may_call_themselves() -> None:
    func = read(
        "@R.function\n"
        'def loop(i: R.Tensor((), "int32")) -> R.Tensor((), "int32"):\n'
        '    if R.less(i, R.const(10, "int32")):\n'
        '        r = loop(R.add(i, R.const(1, "int32")))\n'
        "    else:\n"
        "        r = i\n"
        "    return r\n"
        'return loop(R.const(0, "int32"))'
    )
    binding = func.body.blocks[0].bindings[0]
    assert isinstance(binding.value, relax.Function)
    inner = binding.value.body.blocks[0].bindings[-1].value.true_branch
    assert inner.blocks[0].bindings[-1].value.op is binding.var


def test_macros() -> None:
    @R.macro
    def twice(v):
        w = R.add(v, v)
        return R.exp(w)

    @R.function(private=True)
    def func(x: R.Tensor((4,), "float32")):
        y = twice(x)
        return y

    added, result, given = func.body.blocks[0].bindings
    assert [b.value.op.name for b in (added, result)] == ["relax.add", "relax.exp"]
    # what the macro computes has a variable of its own; the caller's is another one
    assert given.var.name_hint == "y"
    assert given.value is result.var


def test_emit_te_joins_the_module() -> None:
    from tvm import te

    def double(a):
        return te.compute(a.shape, lambda i: a[i] * 2.0, name="double")

    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((4,), "float32")):
            T.evaluate(0)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.emit_te(double, x)
            return y

    names = sorted(var.name_hint for var in Module.functions)
    assert names == ["double", "double_1", "main"]
    call = Module["main"].body.blocks[0].bindings[0].value
    assert call.args[0].name_hint == "double_1"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("y = R.exp(x)", "must have a return value"),
        ("return x\nreturn x", "don't support multiple return"),
        ("return x\ny = R.exp(x)", "after the return"),
        ("if c:\n    y = R.exp(x)\nreturn x", "Else statements are required"),
        ("if c:\n    y = x\nelse:\n    z = x\nreturn x", "must have the same variable"),
        ("if c:\n    pass\nelse:\n    y = x\nreturn x", "Empty body is not allowed"),
        ("with R.dataflow():\n    R.output(x)\nreturn x", "not emitted by this dataflow block"),
        ("with R.dataflow():\n    y = x\n    R.output(y)\n    z = y\nreturn x", "after R.output"),
        ("with R.dataflow():\n    if c:\n        y = x\n    else:\n        y = x\n    R.output(y)\n"
         "return x", "inside a dataflow block"),
        ("R.exp(x)\nreturn x", "must be bound to a variable"),
        ("y: R.Shape = x\nreturn x", "Invalid annotation"),
        ("y: 3 = R.exp(x)\nreturn x", "Expected StructInfo but got int"),
        ("y: R.Tensor(('m',)) = R.exp(x)\nreturn x", "legal only in the parameters"),
        ("n = T.int32()\nreturn x", "can only have dtype of int64"),
        ("x = T.int64()\nreturn x", "Cannot redefine a non-TIR-variable"),
        ("a = b = x\nreturn x", "Consequential assignments"),
        ("y: R.Tensor((2,)) = R.match_cast(x, R.Tensor((3, 4), 'float32'))\nreturn x",
         "inconsistent annotation"),
        ("return", "legal: return R.tuple"),
        ("y = R.nonsense(x)\nreturn x", "R has no word 'nonsense'"),
        ("y = R.nn.nonsense(x)\nreturn x", "R.nn has no operator 'nonsense'"),
        ("y = R.add(R.zeros((2,), 'int8'), R.zeros((3,), 'int8'))\nreturn y", "relax.add"),
        ("with R.dataflow() as q:\n    R.output()\nreturn x", "doesn't allow binding expressions"),
    ],
)  # fmt: skip
def test_mistakes(text: str, wanted: str) -> None:
    with pytest.raises(DiagnosticError, match=wanted):
        read(text)


@pytest.mark.parametrize(
    ("signature", "wanted"),
    [
        ("x", "Type annotation is required"),
        ("x: R.Tensor(('n * 2',))", "Undefined variable: n"),
        ("*x: R.Object", "plain positional parameters only"),
    ],
)
def test_mistakes_in_signatures(signature: str, wanted: str) -> None:
    with pytest.raises(DiagnosticError, match=wanted):
        read("return R.tuple()", signature)


def test_thousands_of_bindings() -> None:
    count = 5000
    text = ["v0 = x", *[f"v{i + 1} = R.add(v{i}, x)" for i in range(count)], f"return v{count}"]
    func = read("\n".join(text), 'x: R.Tensor((4,), "float32")')
    assert len(func.body.blocks[0].bindings) == count + 1
    assert_structural_equal(from_source(func.script()), func)


def test_a_value_has_the_struct_info_its_variable_is_annotated_with():
    @R.function
    def f(x: R.Tensor((4, 2), "float32")):
        y: R.Tensor(dtype="float32") = R.add(x, x)
        z: R.Tensor(ndim=2) = x
        return (y, z)

    add, alias = f.body.blocks[0].bindings
    for node in (add.var, add.value):
        assert_structural_equal(node.struct_info, R.Tensor(dtype="float32"))
    assert alias.value.same_as(f.params[0])
    assert_structural_equal(alias.value.struct_info, R.Tensor((4, 2), "float32"))


def test_what_is_not_well_formed_is_said():
    with pytest.raises(DiagnosticError, match="f: it is declared pure and has an impure call"):
        from_source(
            "@I.ir_module\nclass M:\n    @R.function\n    def f(x: R.Object):\n"
            '        _ = R.print(x, format="{}")\n        return x\n'
        )


def test_a_kernel_that_is_pure_may_be_called_before_it_is_read():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(["n"], "float32")):
            n = T.int64()
            cond = Module.is_even(R.prim_value(n))
            return cond

        @T.prim_func(private=True)
        def is_even(n: T.int64) -> T.bool:
            T.ret(n % T.int64(2) == T.int64(0))

    assert Module.get_global_var("is_even").struct_info.purity


def test_immediates_with_names_stay_immediates() -> None:
    @R.function
    def named(x: R.Tensor(("n", 16), "float32"), q: R.Tensor((1, 4, 2, 8), "float32")):
        with R.dataflow():
            n, c = T.int64(), T.int64(16)
            s = T.FloatImm("float32", 0.5)
            y = R.match_cast(x, R.Tensor((n, c), "float32"))
            z = R.nn.attention(q, q, q, scale=s)
            R.output(y, z)
        return y, z

    @R.function
    def plain(x: R.Tensor(("n", 16), "float32"), q: R.Tensor((1, 4, 2, 8), "float32")):
        with R.dataflow():
            n = T.int64()
            y = R.match_cast(x, R.Tensor((n, 16), "float32"))
            z = R.nn.attention(q, q, q, scale=0.5)
            R.output(y, z)
        return y, z

    assert len(named.body.blocks[0].bindings) == 2
    symbol = "global_symbol"
    assert_structural_equal(named.without_attr(symbol), plain.without_attr(symbol))


def test_nonlocal_says_nothing_to_the_program() -> None:
    def make(dtype: str, size: int) -> relax.Function:
        @R.function
        def f(x: R.Tensor((size,), dtype)):
            nonlocal dtype, size
            y = R.exp(x)
            return y

        return f

    assert str(make("float16", 3).ret_struct_info) == 'R.Tensor((3,), dtype="float16")'


@pytest.mark.parametrize(
    "end", ["", "            R.output()\n", "            R.output(R.tuple())\n"]
)
def test_a_dataflow_block_may_give_nothing(end: str) -> None:
    text = (
        "# from tvm.script import relax as R\n@R.function\n"
        'def f(x: R.Tensor((3,), "float32")):\n'
        "    with R.dataflow():\n        y = R.exp(x)\n"
        + end.replace("    " * 3, "    " * 2)
        + "    return x\n"
    )
    (block,) = from_source(text).body.blocks
    assert [type(b.var) for b in block.bindings] == [relax.DataflowVar]


def test_outputs_may_stand_in_a_tuple() -> None:
    @R.function
    def func(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            z = R.log(y)
            w = R.abs(z)
            R.output(R.tuple(y, w))
        return (y, w)

    assert [type(b.var) for b in func.body.blocks[0].bindings] == [
        relax.Var, relax.DataflowVar, relax.Var,
    ]  # fmt: skip


def test_annotations_of_new_calls_are_taken_as_they_are() -> None:
    @I.ir_module(check_well_formed=False)
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y: R.Tensor((4,), "float16") = R.exp(x)
            return y

    assert str(Module["main"].ret_struct_info.dtype) == "float16"
    assert not relax.analysis.well_formed(Module)
    with pytest.raises(DiagnosticError, match="is said to be"):
        from_source(Module.script())


def test_annotations_of_known_values_are_compared_only() -> None:
    @R.function
    def func(x: R.Tensor((2, "k"), "int8"), w: R.Tensor((5, "k"), "int8")):
        k = T.int64()
        z: R.Object = x
        # the call is made anew around the variable of its operand
        a: R.Tensor((2, 5)) = R.matmul(z, R.permute_dims(w))
        b: R.Tensor((2, k)) = R.negative(z)
        return (z, a, b)

    z, a, b = func.ret_struct_info.fields
    assert_structural_equal(z, func.params[0].struct_info)
    assert (str(a.dtype), str(b.dtype)) == ("int8", "void")


def test_a_dataflow_block_may_return() -> None:
    @R.function
    def short(x: R.Tensor((2,), "int8")):
        with R.dataflow():
            y = R.add(x, x)
            z = R.add(x, y)
            return (y, R.negative(z))

    @R.function
    def long(x: R.Tensor((2,), "int8")):
        with R.dataflow():
            y = R.add(x, x)
            z = R.add(x, y)
            n = R.negative(z)
            R.output(y, n)
        return (y, n)

    assert_structural_equal(short, long.with_attr("global_symbol", "short"))


def test_results_in_place_are_checked_with_the_module() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def g(x: T.Buffer((4,), "float32")):
        x[0] = T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        a = (x,)
        y = R.call_tir_inplace(cls.g, {}, [0], R.Tensor(({},), "float32"))
        return y
"""
    assert relax.analysis.well_formed(from_source(text.format("(x,)", 4)))
    mod = from_source(text.format("(x,)", 5), check_well_formed=False)
    assert not relax.analysis.well_formed(mod)
    with pytest.raises(DiagnosticError):
        from_source(text.format("a", 4))


def test_storage_of_any_size() -> None:
    @R.function
    def func(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        s = R.memory.alloc_storage((n * 4,), 0, "global", "uint8")
        return s

    assert isinstance(func.ret_struct_info, relax.ObjectStructInfo)


def test_a_mistake_within_a_local_function_leaves_nothing_open() -> None:
    """What is read afterwards does not join the function that failed."""
    text = """
@R.function
def main(x: R.Tensor((3,))):
    @R.function
    def inner(y: R.Tensor((3,))):
        return R.add(y, nothing)
    return inner(x)
"""
    with pytest.raises(DiagnosticError, match="nothing"):
        from_source(text)
    assert not IRBuilder.is_in_scope()


def test_what_held_before_holds_again_after_a_function() -> None:
    parser = Parser(Source("x = 1"))
    context = enter_token(parser)
    assert parser.inside_function
    inner = enter_token(parser)
    exit_token(parser, inner)
    assert parser.inside_function
    exit_token(parser, context)
    assert not parser.inside_function


def test_plain_numbers_are_constants() -> None:
    func = read("a = 3\nb = 1.5\nc = True\nreturn (a, b, c)")
    dtypes = [binding.value.struct_info.dtype for binding in func.body.blocks[0].bindings]
    assert dtypes == ["int32", "float32", "bool"]


@pytest.mark.parametrize(
    ("signature", "spot"),
    [
        ("x: R.Tensor(('m + 1',))", "R.Tensor(('m + 1',))"),
        ("x: R.Tensor((2,)), y: R.Shape(['x'])", "x: R.Tensor((2,))"),
        ("x: R.Tensor((2,)), y: R.Tensor(('m +',))", "R.Tensor(('m +',))"),
        ("x: R.Tensor((2,), dtype='no type')", "R.Tensor((2,), dtype='no type')"),
    ],
)
def test_mistakes_in_a_signature_are_shown_at_their_parameter(signature: str, spot: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        read("return x", signature)
    line, marks = str(caught.value).split("\n")[-2:]
    assert line[marks.index("^") : marks.rindex("^") + 1] == spot


def test_a_local_function_that_calls_itself_is_read_again() -> None:
    func = read(
        "@R.function\n"
        'def loop(i: R.Tensor((), "int32")) -> R.Tensor((), "int32"):\n'
        '    if R.less(i, R.const(10, "int32")):\n'
        '        r = loop(R.add(i, R.const(1, "int32")))\n'
        "    else:\n"
        "        r = i\n"
        "    return r\n"
        'return loop(R.const(0, "int32"))'
    )
    again = from_source(func.script())
    assert_structural_equal(func, again)
    assert structural_hash(func) == structural_hash(again)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_constants_that_are_no_numbers_are_read_again(value: str) -> None:
    func = read(f"y = R.const(float('{value}'), 'float32')\nreturn y")
    assert_structural_equal(from_source(func.script()), func)


def test_neighbouring_dataflow_blocks_are_one():
    @R.function
    def func(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            R.output(a)
        with R.dataflow():
            b = R.exp(a)
            R.output(b)
        return b

    (block,) = func.body.blocks
    assert [binding.var.name_hint for binding in block.bindings] == ["a", "b"]


def test_annotations_that_cannot_be_made_are_diagnostics() -> None:
    for note in ('R.Tensor((4,), "flot32")', "R.Tensor((1.5,))", "R.Tensor((4,), ndim=2)"):
        source = f"@R.function\ndef func(x: {note}):\n    return x\n"
        with pytest.raises(DiagnosticError):
            from_source(source)
    with pytest.raises(DiagnosticError):

        @R.function
        def func(x: R.Tensor((4,), "flot32")):
            return x


def test_a_cast_is_bound() -> None:
    with pytest.raises(DiagnosticError, match="Unsupported Expr stmt type"):

        @R.function
        def func(x: R.Tensor(ndim=1, dtype="float32")):
            n = T.int64()
            R.match_cast(x, R.Tensor((n,), "float32"))
            return x

"""Documents become Python text with as few parentheses as Python's grammar allows."""

from __future__ import annotations

import ast

import pytest

import tvm
from tvm.ir.access_path import AccessPath
from tvm.script.printer import doc as d
from tvm.script.printer.doc import OperationKind as Op
from tvm.script.printer.doc_printer import to_python_script

pytestmark = pytest.mark.pure
x, y, z = (d.IdDoc(name) for name in "xyz")


def op(kind: Op, *operands: d.ExprDoc) -> d.OperationDoc:
    return d.OperationDoc(kind, operands)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (-3, "-3"),
        (1.0, "1.0"),
        (0.1, "0.10000000000000001"),
        (-3.4028234663852886e38, "-340282346638528859811704183484516925440.0"),
        (float("inf"), '"inf"'),
        (float("-inf"), '"-inf"'),
        ('a"b\\\n\tü', '"a\\"b\\\\\\n\\tü"'),
    ],
)
def test_literals(value: d.Literal, text: str) -> None:
    assert to_python_script(d.LiteralDoc(value)) == text


@pytest.mark.parametrize(
    ("doc", "text"),
    [
        (op(Op.Add, op(Op.Add, x, y), z), "x + y + z"),
        (op(Op.Add, x, op(Op.Add, y, z)), "x + (y + z)"),
        (op(Op.Mult, op(Op.Add, x, y), z), "(x + y) * z"),
        (op(Op.Sub, x, op(Op.Mult, y, z)), "x - y * z"),
        (op(Op.Pow, op(Op.Pow, x, y), z), "(x ** y) ** z"),
        (op(Op.Pow, x, op(Op.Pow, y, z)), "x ** y ** z"),
        (op(Op.Lt, op(Op.Lt, x, y), z), "(x < y) < z"),
        (op(Op.Not, op(Op.And, x, y)), "not (x and y)"),
        (op(Op.And, op(Op.Or, x, y), op(Op.Not, z)), "(x or y) and not z"),
        (op(Op.USub, op(Op.Add, x, y)), "-(x + y)"),
        (op(Op.IfThenElse, x, y, z), "y if x else z"),
        (d.LambdaDoc([x, y], op(Op.Add, x, y)).call(z), "(lambda x, y: x + y)(z)"),
        (d.LambdaDoc([], x), "lambda : x"),
        (d.TupleDoc([x]), "(x,)"),
        (d.ListDoc([x, y]), "[x, y]"),
        (d.DictDoc({d.LiteralDoc("k"): x, y: z}), '{"k": x, y: z}'),
        (d.IndexDoc(x, []), "x[()]"),
        (d.IndexDoc(x, [d.SliceDoc(y, z), d.SliceDoc()]), "x[y:z, :]"),
        (d.IndexDoc(x, [d.SliceDoc(None, y, z)]), "x[:y:z]"),
        (x.attr("f").call(y, k=z, w=y), "x.f(y, k=z, w=y)"),
        (x.call(k=z), "x(k=z)"),
    ],
)
def test_expressions(doc: d.ExprDoc, text: str) -> None:
    printed = to_python_script(doc)
    assert printed == text
    ast.parse(printed)


def _stmt(doc: d.StmtDoc, comment: str) -> d.StmtDoc:
    doc.comment = comment
    return doc


@pytest.mark.parametrize(
    ("doc", "text"),
    [
        (d.AssignDoc(x, y, z), "x: z = y"),
        (d.AssignDoc(d.TupleDoc([x, y]), z), "x, y = z"),
        (d.AssignDoc(d.TupleDoc([x]), z), "x, = z"),
        (d.AssignDoc(x, d.TupleDoc([y, z])), "x = y, z"),
        (d.AssignDoc(x, d.TupleDoc([y])), "x = (y,)"),
        (d.AssignDoc(x, d.TupleDoc([])), "x = ()"),
        (d.ForDoc(d.TupleDoc([x, y]), z, []), "for x, y in z:\n    pass"),
        (d.WhileDoc(x, [d.ExprStmtDoc(y)]), "while x:\n    y"),
        (
            d.IfDoc(x, [d.ReturnDoc(y)], [d.AssertDoc(y, d.LiteralDoc("m"))]),
            'if x:\n    return y\nelse:\n    assert y, "m"',
        ),
        (d.ScopeDoc(None, x, [d.ExprStmtDoc(y)]), "with x:\n    y"),
        (d.ScopeDoc(z, x, [d.ExprStmtDoc(y)]), "with x as z:\n    y"),
        (d.CommentDoc("one\ntwo"), "# one\n# two"),
        (_stmt(d.ExprStmtDoc(x), "why"), "x  # why"),
        (_stmt(d.ForDoc(x, y, []), "loop"), "# loop\nfor x in y:\n    pass"),
    ],
)
def test_statements(doc: d.StmtDoc, text: str) -> None:
    assert to_python_script(doc) == text
    ast.parse(text)


def test_functions_and_classes() -> None:
    func = d.FunctionDoc(x, [d.AssignDoc(y, None, z)], [d.IdDoc("deco")], z, [d.ReturnDoc(y)])
    func.comment = "What it does."
    doc = d.ClassDoc(d.IdDoc("C"), [d.IdDoc("m")], [func, func])
    text = '"""\n        What it does.\n        """'
    body = f"    @deco\n    def x(y: z) -> z:\n        {text}\n        return y"
    assert to_python_script(doc) == f"@m\nclass C:\n{body}\n\n{body}"


def test_indentation_is_chosen() -> None:
    doc = d.WhileDoc(x, [d.WhileDoc(y, [d.ExprStmtDoc(z)])])
    assert to_python_script(doc, indent_spaces=2) == "while x:\n  while y:\n    z"


def test_paths_are_underlined() -> None:
    path = AccessPath.root().attr("b")
    marked = d.IdDoc("bad")
    marked.source_paths = [path]
    bad = d.AssignDoc(y, op(Op.Add, z, marked))
    doc = d.StmtBlockDoc([d.ExprStmtDoc(x), bad, d.ExprStmtDoc(x)])
    assert to_python_script(doc, path_to_underline=[path]) == "x\ny = z + bad\n        ^^^\nx"


def test_the_paths_that_lead_furthest_are_underlined() -> None:
    both = AccessPath.root().attr("sum")
    left, right = both.array_item(1), both.array_item(2)
    first, second, third = d.IdDoc("ab"), d.IdDoc("cd"), d.IdDoc("ef")
    first.source_paths, second.source_paths, third.source_paths = [left], [right], [left]
    added = d.OperationDoc(Op.Add, [first, second])
    added.source_paths = [both]
    doc = d.StmtBlockDoc([d.ExprStmtDoc(added), d.ExprStmtDoc(third)])

    def underlined(*paths: AccessPath) -> str:
        return to_python_script(doc, path_to_underline=paths)

    assert underlined(both) == "ab + cd\n^^^^^^^\nef"
    assert underlined(left.attr("value")) == "ab + cd\n^^\nef\n^^"
    assert underlined(right, left) == "ab + cd\n^^   ^^\nef\n^^"
    assert underlined(both.attr("dtype")) == "ab + cd\n^^^^^^^\nef"
    assert underlined(AccessPath.root().attr("other")) == "ab + cd\nef"


def test_depth_costs_no_recursion() -> None:
    left: d.ExprDoc = x
    right: d.ExprDoc = x
    for _ in range(20_000):
        left, right = op(Op.Add, left, y), op(Op.Add, y, right)
    assert to_python_script(left).count("+") == 20_000
    assert to_python_script(right).count("(") == 19_999


@pytest.mark.parametrize(
    "doc", [d.ExprStmtDoc(x), d.AssignDoc(x, y), d.ReturnDoc(x), d.AssertDoc(x)]
)
def test_the_comment_of_a_line_is_one_line(doc: d.StmtDoc) -> None:
    doc.comment = "a\nb"
    with pytest.raises(ValueError, match=r"comment string of \w+Doc cannot have newline"):
        to_python_script(doc)
    doc.comment = "a"
    assert to_python_script(doc).rstrip().endswith("  # a")


@pytest.mark.parametrize(("turns", "nested"), [(30, True), (300, False)])
def test_long_chains_of_conditions_can_be_read(turns: int, nested: bool) -> None:
    """A hundred levels of indentation are more than Python reads."""
    lines = ["@T.prim_func", "def main(A: T.Buffer((4,), 'int32'), n: T.int32):"]
    for i in range(turns):
        lines += [f"    {'elif' if i else 'if'} n == {i}:", f"        A[0] = {i}"]
    func = tvm.script.from_source("\n".join([*lines, "    else:", "        A[0] = -1"]))
    text = func.script()
    assert ("elif" not in text) == nested
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), func)


def test_a_sign_binds_more_tightly_on_the_right_of_a_power() -> None:
    minus = [op(Op.USub, doc) for doc in (x, y)]
    assert to_python_script(op(Op.Pow, *minus)) == "(-x) ** -y"
    assert to_python_script(op(Op.Pow, x, op(Op.Invert, y))) == "x ** ~y"
    assert to_python_script(op(Op.Pow, x, op(Op.Pow, y, z))) == "x ** y ** z"
    assert to_python_script(op(Op.Pow, x, op(Op.Not, y))) == "x ** (not y)"
    assert to_python_script(op(Op.Pow, x, op(Op.Mult, y, z))) == "x ** (y * z)"


def test_a_choice_stands_bare_as_the_first_part_of_another() -> None:
    inner = op(Op.IfThenElse, y, y, y)
    assert to_python_script(op(Op.IfThenElse, x, inner, z)) == "y if y else y if x else z"
    assert to_python_script(op(Op.IfThenElse, inner, x, z)) == "x if (y if y else y) else z"


def test_operators_take_their_number_of_operands() -> None:
    for kind, count, wanted in (
        (Op.USub, 0, 1), (Op.Invert, 2, 1), (Op.Add, 1, 2),
        (Op.Lt, 3, 2), (Op.IfThenElse, 2, 3),
    ):  # fmt: skip
        with pytest.raises(tvm.TVMError, match=f"{count} operands; legal: {wanted} of them"):
            to_python_script(op(kind, *[x] * count))


def test_whole_statements_are_underlined_without_their_comments() -> None:
    path = AccessPath.root()
    loop = d.ForDoc(d.IdDoc("i"), d.IdDoc("r"), [d.CommentDoc("why"), d.ExprStmtDoc(d.IdDoc("a"))])
    loop.comment, loop.source_paths = "above", [path]
    assert to_python_script(loop, path_to_underline=[path]).split("\n") == [
        "# above", "for i in r:", "^" * 11, "    # why", "    a", "    ^"]  # fmt: skip
    simple = d.AssignDoc(d.IdDoc("x"), d.IdDoc("y"))
    simple.comment, simple.source_paths = "", [path]
    assert to_python_script(simple, path_to_underline=[path]).split("\n") == ["x = y  #", "^^^^^"]


def test_what_is_no_document_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a Doc, found list"):
        to_python_script(d.IdDoc("a").call([d.IdDoc("b")]))  # type: ignore[arg-type]

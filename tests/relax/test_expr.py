"""Words of Relax: what they hold, what they refuse, JSON and equality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvm import ir, relax, tir
from tvm.error import TVMError
from tvm.ir.op import Op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def tensor(*shape: object, dtype: str = "float32") -> relax.TensorStructInfo:
    return relax.TensorStructInfo(shape, dtype)


def test_variables_are_known_by_id() -> None:
    x = relax.Var("x", tensor(2, 3))
    same = relax.Var(x.vid, tensor(2, 3))
    assert x.name_hint == "x"
    assert ir.structural_equal(x, same, map_free_vars=True)
    assert isinstance(relax.DataflowVar("y", tensor(1)), relax.Var)


def test_struct_info_of_a_variable_is_checked() -> None:
    with pytest.raises(TypeError, match="struct_info is a tuple"):
        relax.Var("x", (2, 3))


def test_unknown_struct_info_is_an_error_and_not_none() -> None:
    with pytest.raises(TVMError, match="not known yet"):
        _ = relax.Var("x").struct_info


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1, None, "int32"),
        (1.5, None, "float32"),
        (True, None, "bool"),
        ([1, 2], None, "int32"),
        (np.float64([1]), None, "float32"),
        (np.int64([1]), None, "int32"),
        (np.float16([1]), None, "float16"),
        (1, "float16", "float16"),
        (1.0, "bfloat16", "bfloat16"),
        (np.int64([1]), "int64", "int64"),
    ],
)
def test_constants_have_the_dtypes_scripts_expect(
    value: object, dtype: str | None, expected: str
) -> None:
    made = relax.const(value, dtype)
    assert made.struct_info.dtype == expected
    assert made.data.dtype == expected


def test_constant_shares_no_writable_memory() -> None:
    data = np.zeros((2, 2), "float32")
    made = relax.const(data)
    assert made.struct_info.values[0].value == 2
    assert not made.data.numpy().flags.writeable


def test_constant_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="value has to be scalar or Tensor"):
        relax.const(object())


def test_tuple_knows_its_fields_when_they_are_known() -> None:
    x, y = relax.Var("x", tensor(2)), relax.Var("y")
    assert len(relax.Tuple([x, x]).struct_info.fields) == 2
    assert relax.Tuple([x, y]).struct_info_ is None
    assert relax.Tuple([x, y])[-1] is y
    with pytest.raises(IndexError, match="2 of 2"):
        _ = relax.Tuple([x, y])[2]


def test_item_of_a_tuple_variable() -> None:
    pair = relax.Var("p", relax.TupleStructInfo([tensor(2), tensor(3)]))
    assert pair[1].struct_info is pair.struct_info.fields[1]
    with pytest.raises(IndexError, match="Index out of bounds: item 2"):
        _ = pair[2]
    assert [item.index for item in pair] == [0, 1]


def test_shape_extents_are_int64() -> None:
    shape = relax.ShapeExpr([1, tir.const(2, "int32"), N])
    assert [v.dtype for v in shape.values] == ["int64"] * 3
    assert len(shape) == 3
    assert shape[2] is N
    with pytest.raises(TVMError, match="can only have dtype of int64"):
        relax.ShapeExpr([tir.Var("m", "int32")])


def test_callee_must_be_a_function() -> None:
    x = relax.Var("x", tensor(2))
    with pytest.raises(ValueError, match="the callee is no function"):
        relax.Call(x, [x])
    with pytest.raises(TypeError, match="the callee is a function; legal: a Relax expression"):
        relax.Call(lambda a: a, [x])


def test_te_tensor_remembers_its_value() -> None:
    x = relax.Var("x", tensor(2, 3))
    made = relax.te_tensor(x, {}, "given")
    assert isinstance(made.op, relax.expr.TEPlaceholderOp)
    assert made.op.value.same_as(x)
    assert (made.op.name, [int(e) for e in made.shape]) == ("given", [2, 3])


def test_arguments_are_converted() -> None:
    call = relax.Call(relax.extern("f"), [1, "s", (relax.const(1), 2.5), tir.const(3, "int32")])
    kinds = [type(arg).__name__ for arg in call.args]
    assert kinds == ["PrimValue", "StringImm", "Tuple", "PrimValue"]
    assert call.args[0].struct_info.dtype == "int64"
    with pytest.raises(TypeError, match="cannot convert a dict"):
        relax.convert_to_expr({})


class TestFunction:
    def test_result_follows_from_a_normal_body(self) -> None:
        x = relax.Var("x", tensor(N, 4))
        func = relax.Function([x], x)
        assert func.ret_struct_info.values[0] is N
        assert func.struct_info.params[0] is x.struct_info
        assert func.is_pure

    def test_more_precise_result_wins(self) -> None:
        x = relax.Var("x", tensor(2, 4))
        func = relax.Function([x], x, relax.TensorStructInfo(None, "float32", ndim=2))
        assert func.ret_struct_info.values is not None

    def test_symbols_of_the_body_alone_are_erased(self) -> None:
        x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=1))
        y = relax.Var("y", tensor(tir.Var("m", "int64")))
        func = relax.Function([x], y)
        assert func.ret_struct_info.values is None
        assert func.ret_struct_info.ndim == 1

    def test_parameters_need_struct_info(self) -> None:
        with pytest.raises(TVMError, match="params to contain struct_info: 'x'"):
            relax.Function([relax.Var("x")], relax.const(1))

    def test_body_or_result_must_be_known(self) -> None:
        x = relax.Var("x", tensor(2))
        with pytest.raises(TVMError, match="normalized body or a provided ret_struct_info"):
            relax.Function([x], relax.Call(relax.extern("f"), [x]))

    def test_empty_function_has_only_a_signature(self) -> None:
        x = relax.Var("x", tensor(2))
        func = relax.Function.create_empty([x], tensor(3), is_pure=False, attrs={"a": 1})
        assert func.ret_struct_info.values[0].value == 3
        assert not func.is_pure
        assert func.attrs["a"] == 1

    def test_attributes_are_set_on_copies(self) -> None:
        x = relax.Var("x", tensor(2))
        func = relax.Function([x], x)
        named = func.with_attr("global_symbol", "f")
        assert "global_symbol" not in func.attrs
        assert len(named.without_attr("global_symbol").attrs) == 0
        assert named.body is func.body


class TestEquality:
    def make(self, name: str, extent: object = 4) -> relax.Function:
        n = tir.Var(name, "int64")
        x = relax.Var(name, tensor(n, extent))
        y = relax.Var("y", tensor(n, extent))
        block = relax.DataflowBlock([relax.VarBinding(y, x)])
        seq = relax.SeqExpr([block], y)
        return relax.Function([x], seq, tensor(n, extent))

    def test_names_do_not_matter(self) -> None:
        assert ir.structural_equal(self.make("a"), self.make("b"))
        assert ir.structural_hash(self.make("a")) == ir.structural_hash(self.make("b"))

    def test_struct_infos_do(self) -> None:
        assert not ir.structural_equal(self.make("a"), self.make("a", 5))

    def test_kind_of_block_does(self) -> None:
        func = self.make("a")
        plain = relax.BindingBlock(func.body.blocks[0].bindings)
        other = relax.Function(
            func.params, relax.SeqExpr([plain], func.body.body), func.ret_struct_info
        )
        assert not ir.structural_equal(func, other)

    def test_json_gives_an_equal_function_back(self) -> None:
        func = self.make("a")
        loaded = ir.load_json(ir.save_json(func))
        assert ir.structural_equal(func, loaded)
        assert ir.structural_equal(loaded.struct_info, func.struct_info)


def test_leaves_come_back_from_json() -> None:
    leaves = relax.Tuple(
        [relax.PrimValue(3), relax.StringImm("s"), relax.DataTypeImm("float16"),
         relax.const([1.0, 2.0]), relax.ShapeExpr([1, 2]), relax.extern("f")]
    )  # fmt: skip
    assert ir.structural_equal(ir.load_json(ir.save_json(leaves)), leaves)


def test_extern_function_needs_a_function_struct_info() -> None:
    with pytest.raises(TVMError, match="its struct info is a TensorStructInfo"):
        relax.extern("f", tensor(2))
    assert relax.extern("f").struct_info.derive_func is not None


def test_branches_become_sequences() -> None:
    x = relax.Var("x", tensor())
    cond = relax.Var("c", tensor(dtype="bool"))
    branch = relax.If(cond, x, x)
    assert isinstance(branch.true_branch, relax.SeqExpr)
    assert branch.true_branch.body is x


def test_shape_of_an_expression() -> None:
    x = relax.Var("x", tensor(N, 4))
    assert relax.get_shape_of(x).values[0] is N
    unknown = relax.Var("y", relax.TensorStructInfo(None, ndim=3))
    call = relax.get_shape_of(unknown)
    assert call.op.name == "relax.shape_of"
    assert call.struct_info.ndim == 3
    with pytest.raises(TVMError, match="legal: a tensor"):
        relax.get_shape_of(relax.ShapeExpr([1]))


def test_make_shape_takes_sequences_only() -> None:
    assert len(relax.make_shape([1, N])) == 2
    with pytest.raises(ValueError, match="Wrong type"):
        relax.make_shape(3)


INFO = relax.TensorStructInfo([2], "float32")
ONE = relax.const(1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: relax.Var(3), "#0 when calling: `relax.Var`. Expected `relax.Id or str` but"),
        (lambda: relax.VarBinding(3, ONE), "Expected `relax.expr.Var` but got `int`"),
        (lambda: relax.VarBinding(relax.Var("x", INFO), 3), "#1 when calling: `relax.VarBinding`"),
        (lambda: relax.MatchCast(relax.Var("x", INFO), ONE, 3), "#2 when calling"),
        (lambda: relax.If(ONE, 2, 3), "#1 when calling: `relax.If`"),
        (lambda: relax.SeqExpr(3, ONE), "#0 when calling: `relax.SeqExpr`"),
        (lambda: relax.SeqExpr([ONE], ONE), "Expected `Array<relax.expr.BindingBlock>`"),
        (lambda: relax.DataflowBlock([ONE]), "#0 when calling: `relax.DataflowBlock`"),
        (lambda: relax.Function([ONE], ONE), "Expected `Array<relax.expr.Var>`"),
        (lambda: relax.Function([], 3), "#1 when calling: `relax.Function`"),
        (lambda: relax.TupleGetItem(relax.Tuple([ONE]), "a"), "#1 when calling"),
        (lambda: relax.StringImm(3), "Expected `str` but got `int`"),
        (lambda: relax.ExternFunc(3), "Expected `str` but got `int`"),
        (lambda: relax.TupleStructInfo([ONE]), "one of the values is a `Constant`"),
        (lambda: relax.FuncStructInfo([INFO], ONE), "#1 when calling: `relax.FuncStructInfo`"),
    ],
)
def test_arguments_of_another_type(make: Callable[[], object], words: str) -> None:
    with pytest.raises(TypeError, match="Mismatched type on argument") as found:
        make()
    assert words in str(found.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: relax.Call(Op.get("relax.add"), [x, x], {"a": 1}), "Expected `ir.Attrs`"),
        (lambda x: relax.Call(Op.get("relax.add"), [x, x], None, ["a"]),
         "Expected `Array<ir.StructInfo>`"),
        (lambda x: relax.Call(Op.get("relax.add"), [x, x], None, 3), "Expected `Sequence`"),
    ],
)  # fmt: skip
def test_arguments_of_other_kinds_are_refused(make: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make(relax.Var("x", relax.TensorStructInfo((2,), "float32")))


@pytest.mark.parametrize("value", [[1, "a"], [[1, 2], [3]], [None], [{}]])
def test_a_constant_is_made_of_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match=r"relax\.const: the values of a tensor"):
        relax.const(value)

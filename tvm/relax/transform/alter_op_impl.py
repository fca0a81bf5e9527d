"""Kernels of some operators are replaced, by ones whose buffers have other layouts.

    lv = R.call_tir(cls.add, (x, y), Tensor((16,)))      # operator_name = "relax.add"
        ->
    a = R.layout_transform(x, lambda i: (i // 4, i % 4))
    b = R.layout_transform(y, lambda i: (i // 4, i % 4))
    c = R.call_tir(cls.relax_add_replacement, (a, b), Tensor((4, 4)))
    lv = R.layout_transform(c, lambda i, j: i * 4 + j)

A kernel says by its attribute `operator_name` which operator it computes. Where a layout has
padding, a kernel `remove_pad` cuts it off behind the replacement. A buffer whose map is `None`
keeps its layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm import te, tir
from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import Call, Constant, Function, Tuple, TupleGetItem, is_call_of
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.op.base import call_tir
from tvm.relax.op.manipulate import layout_transform
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.support.arguments import explained
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute
from tvm.tir.index_map import IndexMap

OPERATOR_NAME = "operator_name"
Separators = Sequence[Sequence[int]] | None


class _Replacement:
    """A kernel, and for each of its buffers the layout and where memory axes are separated."""

    def __init__(
        self, func: PrimFunc, maps: Sequence[Any], outer: Separators, inner: Separators
    ) -> None:
        self.func = func
        self._maps = [None if one is None else _index_map(one) for one in maps]
        self._outer, self._inner = list(outer or ()), list(inner or ())

    def layout(self, index: int) -> IndexMap | None:
        """The layout of a buffer; None where it stays."""
        return self._maps[index] if self._maps else None

    def separators(self, index: int) -> tuple[list[int], list[int]]:
        """Those of the new layout of a buffer, and those of its old one."""
        outer = self._outer[index] if index < len(self._outer) else ()
        inner = self._inner[index] if index < len(self._inner) else ()
        return [int(i) for i in outer or ()], [int(i) for i in inner or ()]


def _index_map(given: Any) -> IndexMap:
    if isinstance(given, IndexMap):
        return given
    if callable(given):
        return IndexMap.from_func_with_separators(given)[0]
    first: IndexMap = given[0]  # a map with its separators
    return first


@relax_module_pass("AlterOpImpl")
@explained
def AlterOpImpl(
    mod: IRModule,
    ctx: PassContext,
    op_impl_map: Mapping[str, PrimFunc],
    op_buffer_transforms: Mapping[str, Sequence[IndexMap | Callable[..., Any] | None]],
    op_buffer_axis_separators: Mapping[str, Separators] | None = None,
    op_buffer_input_axis_separators: Mapping[str, Separators] | None = None,
) -> IRModule:
    """Every `call_tir` of a kernel whose operator has a replacement calls that."""
    outer, inner = op_buffer_axis_separators or {}, op_buffer_input_axis_separators or {}
    known = {}
    for name, func in op_impl_map.items():
        maps = list(op_buffer_transforms.get(name) or ())
        if maps and len(maps) != len(func.params):
            raise CheckError(
                message(
                    f"AlterOpImpl: layouts for {name!r}",
                    found=f"{len(maps)} layouts for {len(func.params)} buffers",
                    legal="none, or one for each operand and result",
                )
            )
        known[name] = _Replacement(func, maps, outer.get(name), inner.get(name))
    return _Replacer(mod, known).run()


class _Replacer(PyExprMutator):
    def __init__(self, mod: IRModule, known: Mapping[str, _Replacement]) -> None:
        super().__init__(mod)
        self._mod, self._known = mod, known
        self._added: dict[str, GlobalVar] = {}
        self._pad_removers: dict[tuple[int, str], GlobalVar] = {}

    def run(self) -> IRModule:
        for var, func in self._mod.functions_items():
            if isinstance(func, Function):
                new = self.visit_expr(func)
                if new is not func:
                    assert isinstance(new, Function), "functions stay functions"
                    self.builder_.update_func(var, new)
        return self.builder_.get()

    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        if not is_call_of(call, "relax.call_tir") or not isinstance(call.args[0], GlobalVar):
            return call
        kernel = self._mod.functions.get(call.args[0])
        name = kernel.attrs.get(OPERATOR_NAME) if isinstance(kernel, PrimFunc) else None
        found = self._known.get(str(name)) if name is not None else None
        return call if found is None else self._replaced(call, str(name), found)

    def _replaced(self, call: Call, name: str, new: _Replacement) -> RelaxExpr:
        operands = call.args[1]
        if not isinstance(operands, Tuple):
            raise CheckError(
                message(f"AlterOpImpl: the operands of {call}", found="a tuple that is not "
                        "written out", legal="a tuple of operands")
            )  # fmt: skip
        inputs = [self._moved(one, new, i) for i, one in enumerate(operands.fields)]
        first = len(operands.fields)
        (info,) = call.sinfo_args
        infos = list(info.fields) if isinstance(info, TupleStructInfo) else [info]
        moved = [_moved_info(one, new, first + i) for i, one in enumerate(infos)]
        result = TupleStructInfo(moved) if isinstance(info, TupleStructInfo) else moved[0]
        made = Call(
            call.op, [self._kernel(name, new), Tuple(inputs), *call.args[2:]], call.attrs,
            [result], call.span,
        )  # fmt: skip
        if not isinstance(info, TupleStructInfo):
            return self._moved_back(made, new, first, info)
        several = self.builder_.emit(made)
        fields = []
        for i, one in enumerate(infos):  # each is brought back before the next is taken
            item = self.builder_.normalize_argument(TupleGetItem(several, i))
            fields.append(
                self.builder_.normalize_argument(self._moved_back(item, new, first + i, one))
            )
        return Tuple(fields)

    def _kernel(self, name: str, new: _Replacement) -> GlobalVar:
        if name not in self._added:
            func = new.func.without_attr("global_symbol").with_attr(OPERATOR_NAME, name)
            hint = name.replace(".", "_") + "_replacement"
            self._added[name] = self.builder_.add_func(func, hint)
        return self._added[name]

    def _moved(self, operand: RelaxExpr, new: _Replacement, index: int) -> RelaxExpr:
        """An operand in the layout of the replacement; numbers have none."""
        layout = new.layout(index)
        if layout is None or _is_number(operand):
            return operand
        return self.builder_.normalize(_transform(operand, layout, new, index))

    def _moved_back(
        self, value: RelaxExpr, new: _Replacement, index: int, info: StructInfo
    ) -> RelaxExpr:
        """A result in the layout that it had before."""
        layout = new.layout(index)
        if layout is None:
            return value
        shape = _shape_of(info)
        back, padding = layout.non_surjective_inverse(shape.values)
        wide = self.builder_.normalize(_transform(value, back, new, index))
        if isinstance(padding, IntImm) and padding.value == 0:
            return wide
        assert isinstance(info, TensorStructInfo), "it has a shape"
        return call_tir(self._pad_remover(info), (wide,), info)

    def _pad_remover(self, info: TensorStructInfo) -> GlobalVar:
        key = (info.ndim, str(info.dtype))
        if key not in self._pad_removers:
            self._pad_removers[key] = self.builder_.add_func(_remove_pad(*key), "remove_pad")
        return self._pad_removers[key]


def _transform(value: RelaxExpr, index_map: IndexMap, new: _Replacement, index: int) -> Call:
    outer, inner = new.separators(index)
    call = layout_transform(value, _copy(index_map), None, outer, inner)
    call.span = value.span
    return call


def _copy(index_map: IndexMap) -> IndexMap:
    """The map over variables of its own: no two operators share theirs."""
    fresh = [tir.Var(var.name, var.dtype) for var in index_map.initial_indices]
    at = dict(zip(index_map.initial_indices, fresh))
    finals = [substitute(index, at) for index in index_map.final_indices]
    return IndexMap(fresh, finals, index_map.inverse_index_map)


def _is_number(expr: RelaxExpr) -> bool:
    return isinstance(expr, Constant) and len(expr.data.shape) == 0


def _shape_of(info: StructInfo) -> ShapeExpr:
    shape = info.shape if isinstance(info, TensorStructInfo) else None
    if not isinstance(shape, ShapeExpr):
        raise CheckError(
            message("AlterOpImpl: the result of a kernel", found=str(info),
                    legal="a tensor of known shape")
        )  # fmt: skip
    return shape


def _moved_info(info: StructInfo, new: _Replacement, index: int) -> StructInfo:
    layout = new.layout(index)
    if layout is None:
        return info
    shape = layout.map_shape(_shape_of(info).values)
    assert isinstance(info, TensorStructInfo), "it has a shape"
    return TensorStructInfo(ShapeExpr(shape), info.dtype, info.vdevice, span=info.span)


def _remove_pad(ndim: int, dtype: str) -> PrimFunc:
    """The first elements of each dimension: what is left when padding goes."""
    wide = te.placeholder([te.var(f"p{i}", "int64") for i in range(ndim)], dtype, "input")
    shape = [te.var(f"i{i}", "int64") for i in range(ndim)]
    out = te.compute(shape, lambda *at: wide(*at), name="output")
    func = te.create_prim_func([wide, out])
    return func.without_attr("global_symbol").with_attr(OPERATOR_NAME, "remove_pad")

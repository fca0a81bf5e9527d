"""Let operators take their tensors in the layouts that are asked for, by dataflow block.

    gv = conv2d(x, w)        lv = permute_dims(x, [0, 2, 3, 1]); lv1 = permute_dims(w, [0, 2, 3, 1])
                      ->     lv2 = conv2d(lv, lv1, data_layout="NHWC", kernel_layout="OHWI")
                             gv = permute_dims(lv2, [0, 3, 1, 2])

What follows takes the layout of its operands where its rule (attribute `FRelaxInferLayout`) can;
other operators get tensors as they were. What leaves a block has its own layout again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from tvm.error import CheckError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.ir.transform import PassContext, PassInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.op.layout_rules import (
    TAKE_DESIRED,
    Layout,
    LayoutOutput,
    initial_of,
    is_plain,
)
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.pass_form import FunctionPass
from tvm.relax.transform.rebuild import map_dataflow_blocks, replace_operands, vars_used, with_value
from tvm.support.arguments import explained
from tvm.tir.data_layout import mapping_of
from tvm.tir.expr import Var as TirVar
from tvm.tir.index_map import IndexMap


@explained
def ConvertLayout(desired_layouts: Mapping[str, Sequence[str]]) -> FunctionPass:
    """Convert to `{"relax.nn.conv2d": ["NHWC", "OHWI"]}`: data, kernel and, if given, result."""
    wanted = {name: [str(layout) for layout in names] for name, names in desired_layouts.items()}
    for name, names in wanted.items():
        if not names:
            raise CheckError(
                message(f"ConvertLayout: no layouts for {name}", found="[]",
                        legal='["NHWC", "OHWI"]')
            )  # fmt: skip

    def run(func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return Converter(func, mod, wanted).run()

    return FunctionPass(run, PassInfo(0, "ConvertLayout", ()))


def _is_nested_tensor(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return all(_is_nested_tensor(field) for field in info.fields)
    return isinstance(info, TensorStructInfo)


def _known(layout: Layout) -> bool:
    if isinstance(layout, tuple):
        return all(_known(part) for part in layout)
    return layout is not None


class Converter:
    """The dataflow blocks of a function; what stands for a variable, and in which layout.

    `RULES` names the attributes of operators where their rules are looked for, in that order.
    """

    RULES: ClassVar[tuple[str, ...]] = ("FRelaxInferLayout",)

    def __init__(self, func: Function, mod: IRModule, wanted: Mapping[str, Sequence[str]]) -> None:
        self._func = func
        self._wanted = wanted
        self._bb = BlockBuilder(mod)
        self._now: dict[Var, Var] = {}
        self._layouts: dict[Var, Layout] = {}

    def run(self) -> Function:
        def on_block(block: DataflowBlock) -> DataflowBlock:
            new = self._bb.rebuilt(block, self._fill)
            assert isinstance(new, DataflowBlock), "of the same kind"
            return new

        self._bb.begin_scope(self._func.params)
        new = map_dataflow_blocks(self._func, on_block)
        self._bb.end_scope()
        return new

    def _fill(self, block: BindingBlock) -> None:
        for binding in block.bindings:
            value = binding.value
            with span_scope(binding.span or value.span):
                if isinstance(binding, MatchCast):
                    self._cast(binding)
                elif not isinstance(binding, VarBinding):
                    self._keep(binding)
                elif isinstance(value, Call):
                    self._call(binding, value)
                elif isinstance(value, Tuple):
                    self._tuple(binding, value)
                elif isinstance(value, TupleGetItem):
                    self._item(binding, value)
                else:
                    self._keep(binding)

    # --- layouts of values ---

    def assume(self, var: Var, new: Var, layout: Layout) -> None:
        """From here on `new`, in `layout`, stands for `var`."""
        self._now[var] = new
        self._layouts[var] = layout

    def _layout_of(self, expr: RelaxExpr) -> Layout:
        """In which layout the value that now stands for `expr` is."""
        if isinstance(expr, Var) and expr in self._layouts:
            return self._layouts[expr]
        if isinstance(expr, Tuple):
            return tuple(self._layout_of(field) for field in expr.fields)
        return initial_of(expr.struct_info_)

    def _current(self, expr: RelaxExpr) -> RelaxExpr:
        return replace_operands(expr, lambda e: self._now.get(e) if isinstance(e, Var) else None)

    def _in(self, expr: RelaxExpr, to: Layout) -> RelaxExpr:
        """What stands for `expr`, in another layout."""
        return self._moved(self._current(expr), self._layout_of(expr), to)

    def _moved(self, value: RelaxExpr, now: Layout, to: Layout) -> RelaxExpr:
        if now == to:
            return value
        if isinstance(now, tuple) and isinstance(to, tuple):
            parts = [self._part(value, i) for i in range(len(now))]
            return Tuple([self._moved(p, a, b) for p, a, b in zip(parts, now, to)])
        assert isinstance(now, str), "tensors of unknown dimensions stay as they are"
        assert isinstance(to, str), "tensors of unknown dimensions stay as they are"
        if is_plain(now) and is_plain(to):
            return _make("relax.permute_dims", value, [now.index(letter) for letter in to])
        way = mapping_of(now, to)
        indices = [TirVar(f"i{i}", "int32") for i in range(len(way.src_layout))]
        mapping = IndexMap(indices, way.forward_index(indices), None)
        return _make("relax.layout_transform", value, mapping)

    def _part(self, value: RelaxExpr, index: int) -> RelaxExpr:
        if isinstance(value, Tuple):
            return value.fields[index]
        return self._bb.normalize(TupleGetItem(value, index))

    # --- bindings ---

    def _bind(self, binding: VarBinding, value: RelaxExpr, layout: Layout) -> None:
        """Bind a value that is in `layout`; what leaves the block gets its own layout back."""
        var = binding.var
        value = self._bb.normalize(value)
        own = initial_of(var.struct_info_)
        if not isinstance(var, DataflowVar):
            if layout != own:
                value = self._bb.normalize(self._moved(self._bb.emit(value), layout, own))
            layout = own
        if value is binding.value:
            self._bb.emit_normalized(binding)
            return
        if layout == own:
            self._bb.emit_normalized(VarBinding(var, value, binding.span or value.span))
            return
        new = DataflowVar(var.name_hint, value.struct_info, var.span)
        self._bb.emit_normalized(VarBinding(new, value, binding.span or value.span))
        self.assume(var, new, layout)

    def _call(self, binding: VarBinding, call: Call) -> None:
        found = self._ask(call)
        leaves = not isinstance(binding.var, DataflowVar)
        if found is None or (leaves and not _is_nested_tensor(binding.var.struct_info_)):
            inputs = [initial_of(arg.struct_info_) for arg in call.args]
            found = LayoutOutput(tuple(inputs), initial_of(call.struct_info_))
        given = zip(call.args, found.inputs)
        args = [
            self._in(arg, to) if _known(to) and _is_nested_tensor(arg.struct_info_)
            else self._restored(arg)
            for arg, to in given
        ]  # fmt: skip
        args += [self._restored(arg) for arg in call.args[len(found.inputs) :]]
        for position, arg in found.args.items():
            args[position] = arg
        attrs = call.attrs
        if found.options and attrs is not None:
            old = {field.name: getattr(attrs, field.name) for field in attrs.FIELDS}
            if any(old[name] != value for name, value in found.options.items()):
                attrs = type(attrs)(**{**old, **found.options})
        if attrs is call.attrs and all(a is b for a, b in zip(args, call.args)):
            self._bind(binding, call, found.output)
            return
        self._bind(
            binding, Call(call.op, args, attrs, call.sinfo_args, call.span), found.output
        )

    def _ask(self, call: Call) -> LayoutOutput | None:
        """What the operator's rule says; None without one, or for unknown dimensions."""
        if not isinstance(call.op, Op):
            return None
        rule = next(filter(None, map(call.op.get_attr, self.RULES)), None)
        tensors = [arg for arg in call.args if _is_nested_tensor(arg.struct_info_)]
        if rule is None or not all(_known(initial_of(arg.struct_info_)) for arg in tensors):
            return None
        if call.op.name in self._wanted and rule not in TAKE_DESIRED:
            raise CheckError(
                message(
                    f"ConvertLayout: {call.op.name} takes no desired layout",
                    found=f"{list(self._wanted[call.op.name])}",
                    legal="layouts of convolutions and of relax.image.resize2d; others follow",
                )
            )
        found: LayoutOutput = rule(call, self._wanted, self._layout_of)
        return found

    def _tuple(self, binding: VarBinding, value: Tuple) -> None:
        leaves = not isinstance(binding.var, DataflowVar)
        to = [
            initial_of(field.struct_info_) if leaves else self._layout_of(field)
            for field in value.fields
        ]
        new = Tuple([self._in(field, one) for field, one in zip(value.fields, to)], value.span)
        same = all(a is b for a, b in zip(new.fields, value.fields))
        self._bind(binding, value if same else new, tuple(to))

    def _item(self, binding: VarBinding, value: TupleGetItem) -> None:
        layouts = self._layout_of(value.tuple_value)
        source = self._current(value.tuple_value)
        same = source is value.tuple_value
        new = value if same else TupleGetItem(source, value.index, value.span)
        own = layouts[value.index] if isinstance(layouts, tuple) else None
        self._bind(binding, new, own)

    def _cast(self, binding: MatchCast) -> None:
        """A cast of a value in another layout is one to that layout, its extents in that order."""
        name, info = self._layout_of(binding.value), binding.struct_info
        own = initial_of(binding.value.struct_info_)
        inner = isinstance(binding.var, DataflowVar) and isinstance(binding.value, Var)
        if not inner or name == own or not isinstance(name, str) or not is_plain(name):
            self._keep(binding)
            return
        assert isinstance(info, TensorStructInfo), "a tensor has one layout"
        assert isinstance(own, str), "so it has dimensions"
        if info.values is None:
            self._keep(binding)
            return
        extents = [info.values[own.index(letter)] for letter in name]
        moved = TensorStructInfo(ShapeExpr(extents), info.dtype, info.vdevice, span=info.span)
        new = DataflowVar(binding.var.name_hint, moved, binding.var.span)
        value = self._current(binding.value)
        self._bb.emit_normalized(MatchCast(new, value, moved, binding.span))
        self.assume(binding.var, new, name)

    def _restored(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression with every variable in its own layout."""

        def restore(leaf: RelaxExpr) -> RelaxExpr | None:
            if not isinstance(leaf, Var) or leaf not in self._now:
                return None
            return self._bb.normalize_argument(self._in(leaf, initial_of(leaf.struct_info_)))

        return replace_operands(expr, restore)

    def _keep(self, binding: Binding) -> None:
        value = binding.value
        if not any(var in self._now for var in vars_used(value)):
            self._bb.emit_normalized(binding)
            return
        if isinstance(value, Var):  # the way back itself takes the place of its name
            value = self._bb.normalize(self._in(value, initial_of(value.struct_info_)))
        else:
            value = self._bb.normalize(self._restored(value))
        self._bb.emit_normalized(with_value(binding, value))


def _make(name: str, *args: object) -> RelaxExpr:
    made: RelaxExpr = Op.get(name).get_attr("FMakeCall")(*args)
    return made


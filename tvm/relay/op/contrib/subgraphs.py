"""Parts of a program that an outside compiler would take, and what is done with them.

What several partners share: dropout goes, an operator's rule holds for a while, functions that are
not worth a call of the compiler go back to where they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from typing_extensions import Self

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op, register_op_attr
from tvm.ir.transform import PassContext, Sequential
from tvm.relay.expr import Call, TupleGetItem
from tvm.relay.expr_functor import ExprMutator
from tvm.relay.function import Function
from tvm.relay.rewrite import bind
from tvm.relay.transform.function_pass import function_pass
from tvm.relay.traverse import post_order, transform


def get_op_name(expr: Any) -> str:
    """The name of a call's operator; "" for anything else."""
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Op) else ""


def get_args(expr: Any) -> Sequence[Any]:
    """The operands of a call, seen through fields of tuples."""
    while isinstance(expr, TupleGetItem):
        expr = expr.tuple_value
    return expr.args if isinstance(expr, Call) else []


def get_attrs(expr: Any) -> Any:
    """The options of a call, seen through fields of tuples."""
    while isinstance(expr, TupleGetItem):
        expr = expr.tuple_value
    return expr.attrs if isinstance(expr, Call) else {}


F = TypeVar("F", bound=Callable[..., bool])


def taken_by(compiler: str, *op_names: str) -> Callable[[F], F]:
    """Decorate a check of calls of these operators: whether the compiler takes them as they are."""

    def register(func: F) -> F:
        for name in op_names:
            register_op_attr(name, f"target.{compiler}", func)
        return func

    return register


class RemoveDropout(ExprMutator):
    """Has the operand of `nn.dropout` stand where its first result is read."""

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        """The operand of dropout, or the field as it was."""
        made = super().visit_tuple_getitem(op)
        if made.index != 0 or get_op_name(made.tuple_value) != "nn.dropout":
            return made
        return made.tuple_value.args[0]


@function_pass(opt_level=0)
class RemoveDropoutPass:
    """Functions without dropout: when it is not trained, it changes nothing."""

    def transform_function(self, func: Function, mod: IRModule, _: PassContext) -> Any:
        """One function."""
        return RemoveDropout().visit(func)


class OpAttrContext:
    """`with OpAttrContext("nn.conv2d", "FTVMConvertOpLayout", rule): ...`."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any) -> None:
        self.op = Op.get(op_name)
        self.attr_key = attr_key
        self.attr_value = attr_value

    def __enter__(self) -> Self:
        self._older = self.op.attr_state(self.attr_key)
        self.op.reset_attr(self.attr_key)
        self.op.set_attr(self.attr_key, self.attr_value)
        return self

    def __exit__(self, *exc: object) -> None:
        self.op.restore_attr(self.attr_key, self._older)


class IsComputeIntensiveGraph:
    """Says of a part whether it has an operator that is worth a call; `ops` names them."""

    ops: frozenset[str] = frozenset((
        "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose", "nn.conv3d_transpose",
        "nn.dense", "nn.batch_matmul", "sum", "prod", "max", "min", "mean",
    ))  # fmt: skip

    def visit_call(self, call: Call) -> bool:
        """Whether a call is one of them."""
        return get_op_name(call) in self.ops

    def is_graph_compute_intensive(self, subgraph: RelaxExpr) -> bool:
        """Whether any call of a part is."""
        return any(isinstance(e, Call) and self.visit_call(e) for e in post_order(subgraph))


def pruned(mod: IRModule, compiler: str, keep: Callable[[Function], bool]) -> IRModule:
    """The module whose functions for a compiler that are not kept are back in main."""
    gone = {
        var.name_hint: func
        for var, func in mod.functions.items()
        if isinstance(func, Function) and func.attrs.get("Compiler") == compiler and not keep(func)
    }
    main = mod["main"]
    assert isinstance(main, Function), "main is a function of Relay"

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        name = getattr(getattr(new, "op", None), "name_hint", None)
        if name not in gone:
            return new
        assert isinstance(new, Call), "only calls have an op"
        return bind(gone[name].body, dict(zip(gone[name].params, new.args)))

    rest = {v: f for v, f in mod.functions.items() if v.name_hint not in gone}
    if len(rest) == len(mod.functions):
        return mod
    return mod.with_functions({**rest, mod.get_global_var("main"): transform(main, rule)})  # type: ignore[dict-item]


def is_depthwise(data_shape: Sequence[Any], data_layout: str, kernel_shape: Sequence[Any],
                 kernel_layout: str, groups: int) -> bool:  # fmt: skip
    """Whether a convolution has one filter or more for each channel alone."""
    channels = int(data_shape[data_layout.index("C")])
    return groups == channels and int(kernel_shape[kernel_layout.index("I")]) == 1 < groups


def convolutions_in(
    layouts: Mapping[str, tuple[str, str]], make: Mapping[str, Callable[..., Any]]
) -> Any:
    """The pass that brings convolutions into layouts of data and kernels, by the operators' names.

    The kernels of depthwise ones keep their channels where they have their filters: "HWOI".
    """
    from tvm.relay import transform as t

    def rule(conv: Callable[..., Any]) -> Callable[..., Any]:
        def convert(attrs: Any, inputs: Any, tinfos: Any, desired_layouts: Any) -> Any:
            options = dict(attrs.items())
            data, kernel = (str(layout) for layout in desired_layouts)
            depthwise = is_depthwise(
                tinfos[0].shape, str(attrs.data_layout), tinfos[1].shape,
                str(attrs.kernel_layout), int(attrs.groups),
            )
            if depthwise:
                kernel = kernel[3] + kernel[1:3] + kernel[0]
            return conv(*inputs, **{**options, "data_layout": data, "kernel_layout": kernel})

        return convert

    def run(mod: IRModule) -> IRModule:
        rules = [OpAttrContext(name, "FTVMConvertOpLayout", rule(make[name])) for name in layouts]
        with ExitStack() as stack, PassContext(opt_level=3):
            for each in rules:
                stack.enter_context(each)
            wanted = {name: list(pair) for name, pair in layouts.items()}
            return Sequential([t.InferType(), t.ConvertLayout(wanted), t.FoldConstant()])(mod)

    return run

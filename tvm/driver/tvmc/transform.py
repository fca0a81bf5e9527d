"""What is done to the whole graph before it is compiled: layouts and precision."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from typing_extensions import Self

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.relay import transform
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.function import Function
from tvm.relay.testing.temp_op_attr import TempOpAttr
from tvm.relay.transform.mixed_precision import MIXED_PRECISION_ALWAYS

from .errors import TVMCException

_OPS: Final = ("nn.conv2d", "nn.conv2d_transpose", "qnn.conv2d")
_NARROW: Final = ("nn.conv2d", "nn.dense")
_ARGS: Final = (
    "desired_layout", "desired_layout_ops", "mixed_precision", "mixed_precision_ops",
    "mixed_precision_calculation_type", "mixed_precision_acc_type",
)  # fmt: skip


def generate_transform_args(parser: argparse.ArgumentParser) -> None:
    """Let the parser take the arguments of these steps."""
    group = parser.add_argument_group("graph transformations")
    group.add_argument(
        "--desired-layout", default=None, nargs="+",
        help="layout of data, or data:weight, such as NCHW or NHWC:HWIO, for all or each operator",
    )  # fmt: skip
    group.add_argument(
        "--desired-layout-ops", default=None, nargs="+",
        help=f"operators whose layout changes (default: {', '.join(_OPS)})",
    )  # fmt: skip
    group.add_argument("--mixed-precision", action="store_true", help="compute in fewer bits")
    group.add_argument(
        "--mixed-precision-ops", default=list(_NARROW), nargs="+",
        help="operators that compute in fewer bits",
    )  # fmt: skip
    group.add_argument(
        "--mixed-precision-calculation-type", choices=["float16", "float32"], default="float16"
    )
    group.add_argument(
        "--mixed-precision-acc-type", choices=["float16", "float32"], default="float16"
    )


def parse_graph_transform_args(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments of these steps, by name."""
    return {name: getattr(args, name, None) for name in _ARGS}


def convert_graph_layout(
    mod: IRModule, desired_layouts: str | Sequence[str], ops: Sequence[str] | None = None
) -> IRModule:
    """The module with convolutions in a layout, `NCHW` or `NCHW:OIHW`, constants folded.

    There is one layout for all operators, or one for each.
    """
    ops = list(ops or _OPS)
    layouts = [desired_layouts] if isinstance(desired_layouts, str) else list(desired_layouts)
    if len(layouts) not in (1, len(ops)):
        raise TVMCException(
            f"desired layouts: found {len(layouts)} for {len(ops)} "
            "operators; legal: one, or one each"
        )
    wanted = {
        name: [layout.partition(":")[0], layout.partition(":")[2] or "default"]
        for name, layout in zip(ops, layouts * len(ops))
    }
    passes = [
        transform.RemoveUnusedFunctions(), transform.ConvertLayout(wanted),
        transform.FoldConstant(),
    ]  # fmt: skip
    try:
        with PassContext(opt_level=3):
            return Sequential(passes)(mod)
    except (RuntimeError, ValueError) as error:
        raise TVMCException(f"Error converting layout to {', '.join(layouts)}: {error}") from error


def generate_mixed_precision_rule(acc_dtype: str) -> Callable[[Any, str], list[Any]]:
    """The rule of an operator that computes in fewer bits and sums up in this type."""

    def rule(call: Any, mixed_precision_type: str) -> list[Any]:
        return [MIXED_PRECISION_ALWAYS, acc_dtype, mixed_precision_type]

    return rule


class MixedPrecision(ExitStack):
    """A scope in which these operators, and no others' rules change, compute in fewer bits."""

    def __init__(self, ops: Sequence[str], acc_type: str) -> None:
        super().__init__()
        self.ops, self.acc_type = ops, acc_type

    def __enter__(self) -> Self:
        rule = generate_mixed_precision_rule(self.acc_type)
        for name in self.ops:
            self.enter_context(TempOpAttr(name, "FTVMMixedPrecisionConversionType", rule))
        return self


def convert_to_mixed_precision(
    mod: IRModule,
    ops: Sequence[str] | None = None,
    calculation_type: str = "float16",
    acc_type: str = "float16",
) -> IRModule:
    """The module with these operators computed and summed up in these types, results as before."""
    passes = Sequential([transform.InferType(), transform.ToMixedPrecision(calculation_type)])
    options = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}
    try:
        with (
            MixedPrecision(ops or _NARROW, acc_type),
            PassContext(opt_level=3, config=options),
        ):
            return passes(mod)
    except (RuntimeError, ValueError, AttributeError) as error:
        raise TVMCException(f"Error converting mixed precision: {error}") from error


def apply_graph_transforms(
    mod: IRModule, args: Mapping[str, Any] | None, params: Mapping[str, Any] | None = None
) -> IRModule:
    """The module after the steps that `args` asks for, parameters being constants."""
    if not args:
        return mod
    if params and (args.get("mixed_precision") or args.get("desired_layout")):
        main = mod["main"]
        assert isinstance(main, Function), "a model's main is a function of Relay"
        bound = bind_params_by_name(main, params)
        mod = mod.with_functions({**mod.functions, mod.get_global_var("main"): bound})
    if args.get("mixed_precision"):
        mod = convert_to_mixed_precision(
            mod, args.get("mixed_precision_ops"),
            args.get("mixed_precision_calculation_type") or "float16",
            args.get("mixed_precision_acc_type") or "float16",
        )  # fmt: skip
    if args.get("desired_layout"):
        mod = convert_graph_layout(mod, args["desired_layout"], args.get("desired_layout_ops"))
    return mod

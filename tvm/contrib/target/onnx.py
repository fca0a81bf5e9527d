"""Programs of Relay as models of ONNX, opset 11.

    model = to_onnx(mod, params, "net", path="net.onnx")

Parameters that `params` names are initializers, the others inputs; shapes must be known. All
operators that have no form here are told of at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from tvm.error import OpNotImplemented, TVMError
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.type import TupleType
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.transform.infer_type import typed
from tvm.relay.traverse import post_order

ONNX_OPSET_VERSONS_SUPPORTED: Final = [11]
# The version of the file's format that opset 11 came with.
_IR_VERSION: Final = 6

Names = list[str]
Rule = Callable[["_Graph", Call, Names], Names]


def to_onnx(
    relay_ir: IRModule | Function,
    params: Mapping[str, Any],
    name: str,
    opset_version: int = 11,
    path: str | None = None,
) -> Any:
    """The model of `main`; written to `path` as well where one is given."""
    if opset_version not in ONNX_OPSET_VERSONS_SUPPORTED:
        raise OpNotImplemented(
            f"to_onnx: found opset_version {opset_version}; legal: 11, the one that is supported"
        )
    if not isinstance(relay_ir, (IRModule, Function)):
        raise TypeError(
            f"to_onnx: found {type(relay_ir).__name__}; legal: a module or a function of Relay"
        )
    mod = relay_ir if isinstance(relay_ir, IRModule) else IRModule.from_expr(relay_ir)
    main = typed(mod)["main"]
    assert isinstance(main, Function), "main is a function of Relay"
    model = _model(main, params, name)
    onnx = import_module("onnx")
    onnx.checker.check_model(model)
    if path:
        onnx.save(model, path)
    return model


def _model(main: Function, params: Mapping[str, Any], name: str) -> Any:
    helper = import_module("onnx").helper
    graph = _Graph()
    inputs = []
    for param in main.params:
        graph.names[param] = [param.name_hint]
        if param.name_hint in params:
            graph.initializer(param.name_hint, params[param.name_hint].numpy())
        else:
            inputs.append(_declared(param.name_hint, param.checked_type))
    graph.translate(main.body)
    results = [helper.make_node("Identity", [made], [f"output_{number}"])
               for number, made in enumerate(graph.names[main.body])]  # fmt: skip
    outputs = [_declared(node.output[0], kind)
               for node, kind in zip(results, _fields(main.body))]  # fmt: skip
    made = helper.make_graph(
        [*graph.nodes, *results], name, inputs, outputs, initializer=graph.initializers
    )
    opset = helper.make_opsetid("", ONNX_OPSET_VERSONS_SUPPORTED[0])
    return helper.make_model(
        made, producer_name="TVM", opset_imports=[opset], ir_version=_IR_VERSION
    )


def _fields(expr: RelaxExpr) -> list[Any]:
    kind = expr.checked_type
    return list(kind.fields) if isinstance(kind, TupleType) else [kind]


def _shape(kind: Any) -> list[int]:
    try:
        return [int(extent) for extent in kind.shape]
    except TypeError as error:
        raise TVMError(f"to_onnx: found the open shape {kind}; legal: known shapes") from error


def _shape_of(expr: RelaxExpr) -> list[int]:
    return _shape(expr.checked_type)


def _type_code(dtype: str) -> int:
    onnx = import_module("onnx")
    code: int = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return code


def _declared(name: str, kind: Any) -> Any:
    helper = import_module("onnx").helper
    return helper.make_tensor_value_info(name, _type_code(str(kind.dtype)), _shape(kind))


class _Graph:
    """What has been written: nodes, initializers, and the names of each expression's tensors."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.names: dict[RelaxExpr, Names] = {}

    def initializer(self, name: str, value: Any) -> None:
        helper = import_module("onnx").numpy_helper
        self.initializers.append(helper.from_array(np.asarray(value), name))

    def constant(self, value: Any, dtype: str) -> str:
        """The name of a tensor of numbers."""
        name = f"constant_{len(self.initializers)}"
        self.initializer(name, np.asarray(value, dtype))
        return name

    def node(self, kind: str, inputs: Sequence[str], results: int = 1, **attrs: Any) -> Names:
        """Write a node; the names of its results."""
        at = len(self.nodes)
        made = [f"{kind}_{at}_{number}" for number in range(results)]
        helper = import_module("onnx").helper
        self.nodes.append(helper.make_node(kind, list(inputs), made, f"{kind}_{at}", **attrs))
        return made

    def translate(self, body: RelaxExpr) -> None:
        """Write all that a body is made of."""
        exprs = list(post_order(body))
        unknown = sorted({_told(expr) for expr in exprs} - {""})
        if unknown:
            raise OpNotImplemented(
                f"to_onnx: no form for {', '.join(unknown)}; legal: {', '.join(sorted(RULES))}"
            )
        for expr in exprs:
            if isinstance(expr, Constant):
                array = expr.data.numpy()
                self.names[expr] = [self.constant(array, str(array.dtype))]
            elif isinstance(expr, Tuple):
                self.names[expr] = [name for field in expr.fields for name in self.names[field]]
            elif isinstance(expr, TupleGetItem):
                self.names[expr] = [self.names[expr.tuple_value][expr.index]]
            elif isinstance(expr, Call):
                assert isinstance(expr.op, Op), "others were refused above"
                inputs = [name for arg in expr.args for name in self.names[arg]]
                self.names[expr] = RULES[expr.op.name](self, expr, inputs)


def _told(expr: RelaxExpr) -> str:
    """What an expression is called that has no form here; "" for others."""
    if isinstance(expr, Call) and isinstance(expr.op, Op):
        return "" if expr.op.name in RULES else expr.op.name
    if isinstance(expr, (Op, Var, Constant, Tuple, TupleGetItem)):
        return ""
    return "calls of functions" if isinstance(expr, (Call, GlobalVar)) else type(expr).__name__


def _same(kind: str) -> Rule:
    return lambda graph, call, inputs: graph.node(kind, inputs)


def _only(call: Call, **wanted: str) -> None:
    """Refuse other layouts than ONNX has."""
    attrs: Any = call.attrs
    for name, layout in wanted.items():
        found = str(getattr(attrs, name))
        if found != layout:
            raise TVMError(f"to_onnx: {call.op} with {name} {found!r}; legal: {layout!r}")


def _ints(values: Any) -> list[int]:
    return [int(value) for value in values]


def _pads(padding: Any) -> list[int]:
    """Top, left, bottom, right, of one, two or four numbers."""
    pads = _ints(padding)
    return pads * (4 // len(pads))


def _window(attrs: Any, kernel: Any) -> dict[str, Any]:
    return {
        "kernel_shape": _ints(kernel),
        "pads": _pads(attrs.padding),
        "strides": _ints(attrs.strides),
    }


def _conv2d(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    turned = call.op is Op.get("nn.conv2d_transpose")
    _only(call, data_layout="NCHW", kernel_layout="IOHW" if turned else "OIHW")
    options = _window(attrs, _shape_of(call.args[1])[2:])
    options |= {"dilations": _ints(attrs.dilation), "group": int(attrs.groups)}
    if not turned:
        return graph.node("Conv", inputs, **options)
    more = _ints(attrs.output_padding)
    return graph.node("ConvTranspose", inputs, output_padding=more * (2 // len(more)), **options)


def _pool(kind: str) -> Rule:
    def rule(graph: _Graph, call: Call, inputs: Names) -> Names:
        attrs: Any = call.attrs
        _only(call, layout="NCHW")
        options = {**_window(attrs, attrs.pool_size), "ceil_mode": int(attrs.ceil_mode)}
        if kind == "MaxPool":
            options["dilations"] = _ints(attrs.dilation)
        else:
            options["count_include_pad"] = int(attrs.count_include_pad)
        return graph.node(kind, inputs, **options)

    return rule


def _global_pool(kind: str) -> Rule:
    def rule(graph: _Graph, call: Call, inputs: Names) -> Names:
        _only(call, layout="NCHW")
        return graph.node(kind, inputs)

    return rule


def _last(graph: _Graph, x: str, rank: int, axis: int) -> tuple[str, list[int]]:
    """The tensor with an axis and the last one changed, and the order that changes them back."""
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return (x if axis % rank == rank - 1 else graph.node("Transpose", [x], perm=order)[0]), order


def _softmax(kind: str) -> Rule:
    """Opset 11 takes all axes from one on together: only the last one is alone."""

    def rule(graph: _Graph, call: Call, inputs: Names) -> Names:
        attrs: Any = call.attrs
        rank, axis = len(_shape_of(call)), int(attrs.axis)
        x, order = _last(graph, inputs[0], rank, axis)
        made = graph.node(kind, [x], axis=rank - 1)
        return made if x == inputs[0] else graph.node("Transpose", made, perm=order)

    return rule


def _batch_norm(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    kind: Any = call.args[0].checked_type
    rank, axis = len(kind.shape), int(attrs.axis) % len(kind.shape)
    channels, dtype = _shape(kind)[axis], str(kind.dtype)
    if not attrs.scale:
        inputs = [inputs[0], graph.constant(np.ones(channels), dtype), *inputs[2:]]
    if not attrs.center:
        inputs = [*inputs[:2], graph.constant(np.zeros(channels), dtype), *inputs[3:]]
    order = list(range(rank))
    order[1], order[axis] = order[axis], order[1]
    x = inputs[0] if axis == 1 else graph.node("Transpose", inputs[:1], perm=order)[0]
    made = graph.node("BatchNormalization", [x, *inputs[1:]], epsilon=float(attrs.epsilon))
    made = made if axis == 1 else graph.node("Transpose", made, perm=order)
    return [*made, *inputs[3:]]


def _dense(graph: _Graph, call: Call, inputs: Names) -> Names:
    turned = graph.node("Transpose", inputs[1:], perm=[1, 0])
    return graph.node("MatMul", [inputs[0], *turned])


def _matmul(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    rank = len(_shape_of(call))
    order = [*range(rank - 2), rank - 1, rank - 2]
    turned = [
        graph.node("Transpose", [x], perm=order)[0] if flag else x
        for x, flag in zip(inputs, (attrs.transpose_a, attrs.transpose_b))
    ]
    return graph.node("MatMul", turned)


def _reshaped(graph: _Graph, x: str, shape: Sequence[int]) -> Names:
    return graph.node("Reshape", [x, graph.constant(list(shape), "int64")])


def _bias_add(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    rank = len(_shape_of(call))
    bias = _reshaped(graph, inputs[1], [-1, *[1] * (rank - 1 - int(attrs.axis) % rank)])
    return graph.node("Add", [inputs[0], *bias])


def _dropout(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    return graph.node("Dropout", inputs, 2, ratio=float(attrs.rate))


def _lrn(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    if int(attrs.axis) != 1:
        raise TVMError(f"to_onnx: nn.lrn along the axis {attrs.axis}; legal: 1")
    alpha, beta, bias = float(attrs.alpha), float(attrs.beta), float(attrs.bias)
    return graph.node("LRN", inputs, size=int(attrs.size), alpha=alpha, beta=beta, bias=bias)


def _leaky_relu(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    return graph.node("LeakyRelu", inputs, alpha=float(attrs.alpha))


def _pad(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    pairs = [_ints(pair) for pair in attrs.pad_width]
    pads = graph.constant([p[0] for p in pairs] + [p[1] for p in pairs], "int64")
    mode = str(attrs.pad_mode)
    if mode != "constant":
        return graph.node("Pad", [inputs[0], pads], mode=mode)
    kind: Any = call.checked_type
    value = graph.node("Cast", inputs[1:], to=_type_code(str(kind.dtype)))
    return graph.node("Pad", [inputs[0], pads, *value], mode=mode)


def _concat(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    return graph.node("Concat", inputs, axis=int(attrs.axis))


def _split(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    axis, kinds = int(attrs.axis), _fields(call)
    sizes = [_shape(kind)[axis] for kind in kinds]
    return graph.node("Split", inputs, len(kinds), axis=axis, split=sizes)


def _to_shape(graph: _Graph, call: Call, inputs: Names) -> Names:
    return _reshaped(graph, inputs[0], _shape_of(call))


def _slice(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    begin, end = _ints(attrs.begin), _ints(attrs.end)
    axes = _ints(attrs.axes) if attrs.axes is not None else list(range(len(begin)))
    steps = _ints(attrs.strides) or [1]
    steps = steps * len(begin) if len(steps) == 1 else steps
    far = np.iinfo("int64").max
    if str(attrs.slice_mode) == "size":
        steps = [1] * len(begin)
        end = [far if size < 0 else start + size for start, size in zip(begin, end)]
    axes = axes[: len(begin)]
    steps += [1] * (len(begin) - len(steps))
    end += [far] * (len(begin) - len(end))
    numbers = [graph.constant(values, "int64") for values in (begin, end, axes, steps)]
    return graph.node("Slice", [inputs[0], *numbers])


def _transpose(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    rank = len(_shape_of(call))
    axes = _ints(attrs.axes) if attrs.axes else list(range(rank))[::-1]
    return graph.node("Transpose", inputs, perm=[axis % rank for axis in axes])


def _reduce(kind: str) -> Rule:
    def rule(graph: _Graph, call: Call, inputs: Names) -> Names:
        attrs: Any = call.attrs
        rank = len(_shape_of(call.args[0]))
        given = attrs.axis
        listed = [given] if isinstance(given, int) else given
        axes = list(range(rank)) if given is None else [a % rank for a in _ints(listed)]
        if attrs.exclude:
            axes = [axis for axis in range(rank) if axis not in axes]
        return graph.node(kind, inputs, axes=axes, keepdims=int(attrs.keepdims))

    return rule


def _clip(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    kind: Any = call.checked_type
    limits = [graph.constant(float(n), str(kind.dtype)) for n in (attrs.a_min, attrs.a_max)]
    return graph.node("Clip", [inputs[0], *limits])


def _cast(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    return graph.node("Cast", inputs, to=_type_code(str(attrs.dtype)))


def _layout_transform(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    source, wanted = str(attrs.src_layout), str(attrs.dst_layout)
    if sorted(source) != sorted(wanted):
        raise TVMError(
            f"to_onnx: layout_transform from {source} to {wanted}; legal: the same axes in another "
            "order"
        )
    return graph.node("Transpose", inputs, perm=[source.index(axis) for axis in wanted])


def _filled(value: int) -> Rule:
    def rule(graph: _Graph, call: Call, inputs: Names) -> Names:
        kind: Any = call.checked_type
        return [graph.constant(np.full(_shape(kind), value), str(kind.dtype))]

    return rule


_MODES: Final = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}
_NEAREST: Final = {
    "round": "round_prefer_ceil", "floor": "floor", "ceil": "ceil",
    "round_prefer_floor": "round_prefer_floor", "round_prefer_ceil": "round_prefer_ceil",
    "": "round_prefer_floor",
}  # fmt: skip


def _resize(graph: _Graph, call: Call, inputs: Names) -> Names:
    attrs: Any = call.attrs
    _only(call, layout="NCHW")
    empty = graph.constant([], "float32")
    sizes = graph.constant(_shape_of(call), "int64")
    options: dict[str, Any] = {
        "mode": _MODES[str(attrs.method)],
        "coordinate_transformation_mode": str(attrs.coordinate_transformation_mode),
        "nearest_mode": _NEAREST[str(attrs.rounding_method)],
        "cubic_coeff_a": float(attrs.cubic_alpha),
        "exclude_outside": int(attrs.cubic_exclude),
    }
    return graph.node("Resize", [inputs[0], empty, empty, sizes], **options)


RULES: Final[dict[str, Rule]] = {
    **{name: _same(kind) for name, kind in {
        "abs": "Abs", "add": "Add", "ceil": "Ceil", "copy": "Identity", "cos": "Cos",
        "divide": "Div", "equal": "Equal", "erf": "Erf", "exp": "Exp", "floor": "Floor",
        "greater": "Greater", "less": "Less", "log": "Log", "logical_and": "And",
        "logical_not": "Not", "logical_or": "Or", "maximum": "Max", "minimum": "Min",
        "multiply": "Mul", "negative": "Neg", "nn.relu": "Relu", "power": "Pow",
        "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sqrt": "Sqrt",
        "subtract": "Sub", "tanh": "Tanh", "where": "Where",
    }.items()},
    **{name: _reduce(kind) for name, kind in {
        "mean": "ReduceMean", "sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin",
        "prod": "ReduceProd",
    }.items()},
    "cast": _cast, "clip": _clip, "concatenate": _concat, "expand_dims": _to_shape,
    "image.resize2d": _resize, "layout_transform": _layout_transform,
    "nn.avg_pool2d": _pool("AveragePool"), "nn.batch_flatten": _to_shape,
    "nn.batch_matmul": _matmul, "nn.batch_norm": _batch_norm, "nn.bias_add": _bias_add,
    "nn.conv2d": _conv2d, "nn.conv2d_transpose": _conv2d, "nn.dense": _dense,
    "nn.dropout": _dropout, "nn.global_avg_pool2d": _global_pool("GlobalAveragePool"),
    "nn.global_max_pool2d": _global_pool("GlobalMaxPool"), "nn.leaky_relu": _leaky_relu,
    "nn.log_softmax": _softmax("LogSoftmax"), "nn.lrn": _lrn,
    "nn.max_pool2d": _pool("MaxPool"), "nn.pad": _pad, "nn.softmax": _softmax("Softmax"),
    "ones_like": _filled(1), "reshape": _to_shape, "split": _split, "squeeze": _to_shape,
    "strided_slice": _slice, "transpose": _transpose, "zeros_like": _filled(0),
}  # fmt: skip

"""What converters of models share: questions about expressions, attributes, recurrent cells."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tvm import relay as _relay
from tvm.error import OpAttributeUnImplemented, OpNotImplemented, TVMError, message
from tvm.ir.module import IRModule
from tvm.ir.span import SourceName, Span
from tvm.relay import expr as _expr
from tvm.relay.expr import TupleWrapper, Var, const, var
from tvm.relay.function import Function, FunctionWithFields
from tvm.relay.traverse import transform
from tvm.relay.variables import free_vars

_op: Final[Any] = _relay.op

logger: Final = logging.getLogger("Frontend")


class DuplicateFilter:
    """Lets each message of a logger through once."""

    def __init__(self) -> None:
        self.msgs: set[str] = set()

    def filter(self, record: Any) -> bool:
        """Whether the message is new."""
        new = record.msg not in self.msgs
        self.msgs.add(record.msg)
        return new


logger.addFilter(DuplicateFilter())


# --- attributes of nodes ---


class RequiredAttr:
    """Stands for the default of an attribute that must be there."""


class StrAttrsDict:
    """Attributes that are texts, read as what they say: "(1, 2)", "True", "0.5"."""

    def __init__(self, attrs: Mapping[str, str]) -> None:
        self.attrs = attrs

    def has_attr(self, key: str) -> bool:
        """Whether an attribute is there."""
        return key in self.attrs

    def _read(self, key: str, default: Any, read: Callable[[str], Any]) -> Any:
        if key in self.attrs:
            return read(self.attrs[key])
        if isinstance(default, RequiredAttr):
            raise AttributeError(f"Required attribute {key} not found.")
        return default

    def get_float(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """A number."""
        return self._read(key, default, float)

    def get_int(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """An integer; None where the text says so."""
        return self._read(key, default, lambda text: None if text == "None" else int(text))

    def get_str(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """The text."""
        return self._read(key, default, str)

    def get_int_tuple(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """Integers in parentheses or brackets."""
        return self._read(key, default, lambda text: tuple(_numbers(text, int)))

    def get_float_tuple(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """Numbers in parentheses or brackets."""
        return self._read(key, default, lambda text: tuple(_numbers(text, float)))

    def get_tuple_tuple_int(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """Tuples of integers, one within parentheses each."""
        return self._read(key, default, _tuples)

    def get_int_list(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """Integers in brackets."""
        return self._read(key, default, lambda text: tuple(_numbers(text, int)))

    def get_bool(self, key: str, default: Any = RequiredAttr()) -> Any:  # noqa: B008
        """True for "True", "true" and "1"."""
        return self._read(key, default, lambda text: text.strip() in ("True", "true", "1"))


def _numbers(text: str, kind: Callable[[str], Any]) -> list[Any]:
    inside = text.strip().strip("()[]")
    return [kind(part.strip()) for part in inside.split(",") if part.strip() not in ("", "None")]


def _tuples(text: str) -> tuple[tuple[int, ...], ...]:
    parts = text.replace("[", "(").replace("]", ")").strip()[1:-1].split(")")
    return tuple(tuple(_numbers(part.lstrip(" ,("), int)) for part in parts if part.strip(" ,("))


def get_relay_op(op_name: str) -> Any:
    """The function that makes calls of an operator, by its name or its last part."""
    found = _op
    for part in op_name.split("."):
        found = getattr(found, part, None)
        if found is None:
            break
    if found is None:
        modules = (_op, _op.nn, _op.image, _op.vision, _op.contrib)
        found = next((getattr(p, op_name) for p in modules if hasattr(p, op_name)), None)
    if found is None:
        raise OpNotImplemented(f"Unable to map op_name {op_name} to relay")
    return found


class ExprTable:
    """Expressions by the names that a model gives them, and parameters."""

    def __init__(self) -> None:
        self.exprs: dict[str, Any] = {}
        self.params: dict[str, Any] = {}
        self.const_ctr = 1
        self.in_padding = False
        self.paddings: Any = None

    def new_const(
        self, value: Any, shape: Any = None, dtype: str = "float32", source_name: str | None = None
    ) -> Var:
        """A variable for a parameter with a value."""
        name = f"_param_{self.const_ctr}"
        self.const_ctr += 1
        if hasattr(value, "shape"):
            shape = value.shape
        self.params[name] = value
        made: Any = new_var(name, shape=shape, dtype=dtype)
        self.exprs[name] = made if source_name is None else set_span(made, source_name)
        found: Var = self.exprs[name]
        return found

    def get_expr(self, name: str) -> Any:
        """The expression of a name."""
        return self.exprs[name]

    def set_expr(self, name: str, expr: Any, force_override: bool = False) -> None:
        """Name an expression; a name that is taken stays unless it is forced."""
        if name not in self.exprs or force_override:
            self.exprs[name] = expr

    def has_expr(self, name: str) -> bool:
        """Whether a name has an expression."""
        return name in self.exprs

    def set_padding(self, paddings: Any) -> None:
        """Keep a padding for the operator that comes next."""
        self.paddings = paddings
        self.in_padding = True

    def clear_padding(self) -> None:
        """Forget the padding."""
        self.in_padding = False


class AttrCvt:
    """A converter of one operator: attributes renamed, changed, left out or refused.

    `transforms` maps names to new names, or to (new name, default) or (new name, default,
    function). `excludes` must not be there, `disables` are reported and dropped, `ignores`
    dropped, `extras` added.
    """

    def __init__(
        self,
        op_name: str | Callable[..., str],
        transforms: Mapping[str, Any] | None = None,
        excludes: Sequence[str] | None = None,
        disables: Sequence[str] | None = None,
        ignores: Sequence[str] | None = None,
        extras: Mapping[str, Any] | None = None,
        custom_check: tuple[Callable[..., bool], str] | None = None,
    ) -> None:
        self._op_name = op_name
        self._transforms = dict(transforms or {})
        self._excludes = list(excludes or [])
        self._disables = list(disables or [])
        of_all = ["_output_shapes", "_input_shapes", "T", "use_cudnn_on_gpu"]
        self._ignores = [*of_all, *(ignores or [])]
        self._extras = dict(extras or {})
        self._custom_check = custom_check

    def __call__(self, inputs: Sequence[Any], attrs: Mapping[str, Any], *args: Any) -> Any:
        """The call of the operator for operands and attributes."""
        if self._custom_check is not None and not self._custom_check[0](attrs, *args):
            raise RuntimeError(f"Check failed: {self._custom_check[1]}")
        name = self._op_name if isinstance(self._op_name, str) else self._op_name(attrs)
        options: dict[str, Any] = {}
        for key, value in attrs.items():
            if key in self._excludes:
                raise OpAttributeUnImplemented(
                    f"Attribute {key} in operator {name} is not supported."
                )
            if key in self._disables:
                logger.debug("Attribute %s is disabled in relay.%s", key, name)
            elif key in self._transforms:
                new, _, change = self._rule(key)
                options[new or key] = value if change is None else change(value)
            elif key not in self._ignores:
                options[key] = value
        for key in self._transforms:
            if key not in attrs:
                self._add_default(options, key)
        options.update(self._extras)
        return get_relay_op(name)(*inputs, **options)

    def _rule(self, key: str) -> tuple[str | None, Any, Callable[[Any], Any] | None]:
        target = self._transforms[key]
        parts = [target] if not isinstance(target, (tuple, list)) else list(target)
        name, default, change = (*parts, None, None)[:3]
        return name, default, change

    def _add_default(self, options: dict[str, Any], key: str) -> None:
        if isinstance(self._transforms[key], (tuple, list)):
            new, default, _ = self._rule(key)
            if default is None:
                raise AttributeError(f"Required attribute {key} not found.")
            options[new or key] = default


class Renamer:
    """A converter that only renames an operator."""

    def __init__(self, new_name: str) -> None:
        self._new_name = new_name

    def __call__(self, inputs: Sequence[Any], attrs: Mapping[str, Any], *args: Any) -> Any:
        """The call, with the same attributes."""
        if "tvm_custom" in attrs:
            attrs = {key: value for key, value in attrs.items() if key != "tvm_custom"}
        return get_relay_op(self._new_name)(*inputs, **attrs)


# --- questions about expressions ---


def get_name(node: Any) -> str:
    """The name of a node: a variable's own."""
    return str(getattr(node, "name_hint", getattr(node, "name", "")))


def infer_type(node: Any, mod: IRModule | None = None) -> Any:
    """The expression with types."""
    from tvm.relay.transform.infer_type import infer_types_of

    if isinstance(mod, IRModule):
        return infer_types_of(node, mod)
    return infer_types_of(node)


def fold_constant(node: Any, mod: IRModule | None = None) -> Any:
    """The expression with what is constant computed."""
    from tvm.relay.transform import FoldConstantExpr

    return FoldConstantExpr(infer_type(node, mod), IRModule() if mod is None else mod)


def infer_shape(inputs: Any, mod: IRModule | None = None) -> Any:
    """The shape of an expression: numbers where they are known, `relay.Any` where not."""
    found = infer_type(inputs, mod).checked_type
    shape = getattr(found, "shape", None)
    if shape is None:
        return found
    return tuple(int(getattr(e, "value", e)) if isinstance(getattr(e, "value", e), int) else e
                 for e in shape)  # fmt: skip


def infer_channels(inputs: Any, transpose: bool = False) -> int:
    """The number of filters of a weight."""
    shape = infer_shape(inputs)
    return int(shape[1] if transpose else shape[0])


def infer_value(input_val: Any, params: Mapping[str, Any], mod: IRModule | None = None) -> Any:
    """The value of an expression for values of its variables.

    Raises AssertionError where a variable has none.
    """
    from tvm.relay.build_module import create_executor

    variables = free_vars(input_val)
    assert all(v.name_hint in params for v in variables), (
        f"All inputs to infer must be available in params: {[v.name_hint for v in variables]}"
    )
    whole = IRModule() if mod is None else mod.clone()
    whole["main"] = Function(variables, input_val)
    run = create_executor("debug", whole).evaluate()
    return run(*[params[v.name_hint] for v in variables])


def infer_value_simulated(input_val: Any, params: Mapping[str, Any]) -> Any:
    """As `infer_value`; variables without a value are ones."""
    made = dict(params)
    for variable in free_vars(input_val):
        if variable.name_hint not in made:
            found: Any = variable.type_annotation
            shape = [int(e.value) if hasattr(e, "value") else int(e) for e in found.shape]
            made[variable.name_hint] = np.ones(shape, found.dtype)
    return infer_value(input_val, made)


def try_infer_value(
    val: Any,
    on_success: Callable[[Any], Any] | None = None,
    on_failure: Callable[[], Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> tuple[Any, bool]:
    """The value and True where it can be found; else the expression and False."""
    try:
        found = infer_value(val, parameters or {}).numpy()
    except (AssertionError, TVMError, ValueError, TypeError):
        return (on_failure() if on_failure is not None else val), False
    return (on_success(found) if on_success is not None else found), True


def shape_of(x: Any, dtype: str = "int64", start: int | None = None, end: int | None = None) -> Any:
    """The extents from `start` to `end`: a constant where they are known, else computed."""
    found = infer_type(x).checked_type
    shape = list(found.shape)
    begin = 0 if start is None else start if start >= 0 else len(shape) + start
    stop = len(shape) if end is None else min(end if end >= 0 else len(shape) + end, len(shape))
    known = infer_shape(x)[begin:stop]
    if all(isinstance(extent, int) for extent in known):
        return const(np.array(known, dtype), dtype)
    whole = _op.shape_of(x, dtype)
    return _op.strided_slice(whole, [begin], [stop]) if (begin, stop) != (0, len(shape)) else whole


def new_var(
    name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32"
) -> Var:
    """A variable."""
    return var(name_hint, type_annotation, shape, dtype)


def to_int_list(np_array: Any) -> list[int]:
    """Numbers of an array as integers of Python."""
    return [int(x) for x in np_array]


def ensure_scalar_shape(x: Any) -> Any:
    """A tensor of one element as one without axes."""
    shape = infer_shape(x)
    if len(shape) == 0:
        return x
    return _op.squeeze(x, axis=list(range(len(shape))))


def try_resolve_var_to_const(x: Any, graph_params: Mapping[str, Any]) -> Any:
    """The constant of a variable that is a parameter; anything else as it is."""
    if isinstance(x, Var) and x.name_hint in graph_params:
        value = graph_params[x.name_hint].numpy()
        return const(value, str(value.dtype))
    return x


# --- spans ---


_WITH_FIELDS: Final[dict[type, Callable[..., Any]]] = {
    _expr.Call: _expr.CallWithFields, _expr.Constant: _expr.ConstantWithFields,
    _expr.If: _expr.IfWithFields, _expr.Let: _expr.LetWithFields,
    _expr.Tuple: _expr.TupleWithFields, _expr.TupleGetItem: _expr.TupleGetItemWithFields,
    _expr.Var: _expr.VarWithFields, Function: FunctionWithFields,
}  # fmt: skip


def set_span(sym: Any, span: Any) -> Any:
    """The expression with a span for those of its parts that have none.

    `span` is a span, or the name of a node of the model.
    """
    if isinstance(span, str):
        span = Span(SourceName(span), 0, 0, 0, 0)
    if span is None or sym is None:
        return sym
    if isinstance(sym, TupleWrapper):
        return TupleWrapper(set_span(sym.tuple_value, span), sym.size)
    if isinstance(sym, (list, tuple)):
        return type(sym)(set_span(field, span) for field in sym)

    def rule(old: Any, new: Any) -> Any:
        plain = isinstance(new, Var) and new is not sym
        change = None if plain or getattr(new, "span", None) else _WITH_FIELDS.get(type(new))
        return new if change is None else change(new, span=span)

    return transform(sym, rule)


# --- convolutions and recurrent cells ---


def autopad(
    data: Any, strides: Sequence[int], kernel_shape: Sequence[int],
    dilations: Sequence[int] = (1, 1), pad_type: str = "constant", deconv: bool = False,
    mode: str = "SAME_UPPER", pad_value: float = 0.0,
) -> Any:  # fmt: skip
    """Data padded so that windows a stride apart cover it: the axes behind the second.

    ceil(extent / stride) windows fit; an odd element of padding is behind (SAME_UPPER), or before.
    """
    shape = infer_shape(data)
    spatial = shape[2:]
    if not all(isinstance(extent, int) for extent in spatial):
        raise TVMError(message("autopad", found=f"the shape {shape}", legal="known extents"))
    dilations = list(dilations) + [1] * (len(spatial) - len(dilations))
    widths = [(0, 0), (0, 0)]
    for extent, stride, kernel, dilation in zip(spatial, strides, kernel_shape, dilations):
        reach = (kernel - 1) * dilation + 1
        total = reach - stride if deconv else (-(-extent // stride) - 1) * stride + reach - extent
        total = max(total, 0)
        less, more = total // 2, total - total // 2
        widths.append((less, more) if "UPPER" in mode else (more, less))
    return _op.nn.pad(data, widths, const(pad_value, infer_type(data).checked_type.dtype), pad_type)


def unbind(data: Any, axis: int = 0) -> TupleWrapper:
    """The tensors along an axis, without it; ValueError for an axis that the data does not have."""
    shape = infer_shape(data)
    if axis >= len(shape) or axis < -len(shape):
        raise AttributeError(
            f"Please check input dim, it shouldn't be greater than or equal to rank. found {axis}; "
            f"legal: less than {len(shape)}"
        )
    count = shape[axis]
    parts = _op.split(data, count, axis) if count > 1 else [data]
    fields = [_op.squeeze(parts[at], axis=[axis]) for at in range(count)]
    return TupleWrapper(_expr.Tuple(fields), count)


def rnn_cell(
    input_seqs: Sequence[Any], hidden_state: Any, w_inp: Any, w_hid: Any, b_inp: Any = None,
    b_hid: Any = None, backwards: bool = False, act: Callable[[Any], Any] = _op.tanh,
) -> tuple[list[Any], Any]:  # fmt: skip
    """act(x W_i + b_i + h W_h + b_h) for each step; the outputs in order, and the last state."""
    outputs: list[Any] = []
    for x in reversed(input_seqs) if backwards else input_seqs:
        total = _affine(x, w_inp, b_inp) + _affine(hidden_state, w_hid, b_hid)
        hidden_state = act(total)
        outputs.append(hidden_state)
    return (outputs[::-1] if backwards else outputs), hidden_state


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    made = _op.nn.dense(x, weight)
    return made if bias is None else made + bias


def gru_cell(
    input_seqs: Sequence[Any], hidden_state: Any, w_inp: Any, w_hid: Any, b_inp: Any = None,
    b_hid: Any = None, rz_act: Callable[[Any], Any] = _op.sigmoid,
    n_act: Callable[[Any], Any] = _op.tanh, backwards: bool = False,
    linear_before_reset: bool = True, sequence_lens: Any = None,
) -> tuple[list[Any], Any]:  # fmt: skip
    """A gated unit: h' = (1 - z) n + z h, with gates r, z, n in the rows of the weights.

    Steps from `sequence_lens` on keep the state, and give zeros.
    """
    outputs: list[Any] = []
    dtype = infer_type(hidden_state).checked_type.dtype
    numbers = list(range(len(input_seqs)))
    for at in reversed(numbers) if backwards else numbers:
        new = _gru_step(input_seqs[at], hidden_state, w_inp, w_hid, b_inp, b_hid, rz_act, n_act,
                        linear_before_reset, dtype)  # fmt: skip
        output = new
        if sequence_lens is not None:
            lens = _op.expand_dims(_op.cast(sequence_lens, "int32"), 1)
            inside = _op.cast(_op.less(const(at, "int32"), lens), dtype)
            new = inside * new + (const(1.0, dtype) - inside) * hidden_state
            output = inside * new
        hidden_state = new
        outputs.append(output)
    return (outputs[::-1] if backwards else outputs), hidden_state


def _gru_step(
    x: Any, h: Any, w_inp: Any, w_hid: Any, b_inp: Any, b_hid: Any, rz_act: Any, n_act: Any,
    linear_before_reset: bool, dtype: str,
) -> Any:  # fmt: skip
    given = _affine(x, w_inp, b_inp)
    if linear_before_reset:
        i_r, i_z, i_n = _op.split(given, 3, axis=-1)
        h_r, h_z, h_n = _op.split(_affine(h, w_hid, b_hid), 3, axis=-1)
        r, z = rz_act(i_r + h_r), rz_act(i_z + h_z)
        n = n_act(i_n + r * h_n)
    else:
        i_rz, i_n = _op.split(given, [2 * infer_shape(h)[-1]], axis=-1)
        w_rz, w_n = _op.split(w_hid, [2 * infer_shape(h)[-1]], axis=0)
        b_rz, b_n = (None, None) if b_hid is None else _op.split(
            b_hid, [2 * infer_shape(h)[-1]], axis=-1)  # fmt: skip
        r, z = _op.split(rz_act(i_rz + _affine(h, w_rz, b_rz)), 2, axis=-1)
        n = n_act(i_n + _affine(r * h, w_n, b_n))
    return (const(1.0, dtype) - z) * n + z * h


def lstm_cell(
    input_seqs: Sequence[Any], hidden_state: Any, cell_state: Any, w_inp: Any, w_hid: Any,
    b_inp: Any = None, b_hid: Any = None, proj: Any = None, p_i: Any = None, p_f: Any = None,
    p_o: Any = None, f_act: Callable[[Any], Any] = _op.sigmoid,
    g_act: Callable[[Any], Any] = _op.tanh, h_act: Callable[[Any], Any] = _op.tanh,
    backwards: bool = False,
) -> tuple[list[Any], Any, Any]:  # fmt: skip
    """Long short-term memory: gates i, f, g, o in the rows of the weights, p_... are peepholes.

    c' = f c + i g,  h' = o h_act(c'), times `proj` if it is given.
    """
    outputs: list[Any] = []
    for x in reversed(input_seqs) if backwards else input_seqs:
        gates = _affine(x, w_inp, b_inp) + _affine(hidden_state, w_hid, b_hid)
        i, f, g, o = _op.split(gates, 4, axis=-1)
        i = f_act(i if p_i is None else i + p_i * cell_state)
        f = f_act(f if p_f is None else f + p_f * cell_state)
        cell_state = f * cell_state + i * g_act(g)
        o = f_act(o if p_o is None else o + p_o * cell_state)
        hidden_state = o * h_act(cell_state)
        if proj is not None:
            hidden_state = _op.nn.dense(hidden_state, proj)
        outputs.append(hidden_state)
    return (outputs[::-1] if backwards else outputs), hidden_state, cell_state


__all__ = [
    "AttrCvt", "DuplicateFilter", "ExprTable", "Renamer", "RequiredAttr",
    "StrAttrsDict", "autopad", "ensure_scalar_shape", "fold_constant", "get_name",
    "get_relay_op", "gru_cell", "infer_channels", "infer_shape", "infer_type", "infer_value",
    "infer_value_simulated", "lstm_cell", "new_var", "rnn_cell", "set_span", "shape_of",
    "to_int_list", "try_infer_value", "try_resolve_var_to_const", "unbind",
]  # fmt: skip

"""Relax's operators in torch: their names there, and how their options are said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.relax.py_tensors import is_torch, torch

# Operators that take tensors alone, under the same or another name.
_PLAIN: Final = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "add": "add", "asin": "asin", "asinh": "asinh",
    "atan": "atan", "atanh": "atanh", "bitwise_and": "bitwise_and", "bitwise_not": "bitwise_not",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "ceil": "ceil", "cos": "cos",
    "cosh": "cosh", "equal": "eq", "erf": "erf", "exp": "exp", "floor": "floor", "greater": "gt",
    "greater_equal": "ge", "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan",
    "less": "lt", "less_equal": "le", "log": "log", "logical_and": "logical_and",
    "logical_not": "logical_not", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "matmul": "matmul", "maximum": "maximum", "minimum": "minimum", "multiply": "mul",
    "negative": "neg", "not_equal": "ne", "power": "pow", "round": "round", "rsqrt": "rsqrt",
    "sigmoid": "sigmoid", "sign": "sign", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt",
    "square": "square", "subtract": "sub", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
    "where": "where", "nn.gelu": "nn.functional.gelu", "nn.relu": "nn.functional.relu",
    "nn.selu": "nn.functional.selu",
    "nn.silu": "nn.functional.silu",
}  # fmt: skip
_WITH_OPTIONS: Final = {
    "argmax": "argmax", "argmin": "argmin", "astype": "Tensor.to", "broadcast_to": "broadcast_to",
    "clip": "clamp", "concat": "cat", "cumsum": "cumsum", "divide": "div",
    "expand_dims": "unsqueeze", "flip": "flip", "max": "amax", "mean": "mean", "min": "amin",
    "permute_dims": "permute", "reshape": "reshape", "split": "tensor_split",
    "squeeze": "squeeze", "stack": "stack", "sum": "sum", "tril": "tril", "triu": "triu",
    "nn.leakyrelu": "nn.functional.leaky_relu", "nn.log_softmax": "nn.functional.log_softmax",
    "nn.softmax": "nn.functional.softmax", "take": "index_select",
}  # fmt: skip
OPERATOR_MAP: Final[dict[str, str]] = {
    f"relax.{name}": f"torch.{target}" for name, target in (_PLAIN | _WITH_OPTIONS).items()
}


def torch_call(
    name: str, operator_map: Mapping[str, str], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """The result of an operator on torch's tensors; None where numpy's meaning has to do."""
    library = torch()
    short = name.removeprefix("relax.")
    special = _RULES.get(short)
    if special is not None:
        return special(library, list(args), dict(options))
    target = operator_map.get(name)
    plain = short in _PLAIN or (target is not None and short not in _WITH_OPTIONS)
    if target is None or not plain or not all(is_torch(arg) for arg in args):
        return None
    if any(value not in (None, "", ()) and str(value) != "void" for value in options.values()):
        return None
    func: Any = library
    for part in target.removeprefix("torch.").split("."):
        func = getattr(func, part)
    return func(*args)


def _numbers(value: Any) -> Any:
    """Attributes as plain numbers."""
    if isinstance(value, (list, tuple)):
        return [_numbers(one) for one in value]
    return getattr(value, "value", value)


def _dims(options: Mapping[str, Any], key: str = "axis") -> Any:
    return _numbers(options.get(key))


def _dtype(library: Any, name: Any) -> Any:
    return getattr(library, str(name), None)


def _reduce(word: str) -> Callable[[Any, list[Any], dict[str, Any]], Any]:
    def call(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
        (x,) = args
        dims = _dims(options)
        every = list(range(x.dim()))
        keep = bool(options.get("keepdims", False))
        return getattr(library, word)(x, dim=every if dims is None else dims, keepdim=keep)

    return call


def _softmax(word: str) -> Callable[[Any, list[Any], dict[str, Any]], Any]:
    def call(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
        return getattr(library.nn.functional, word)(args[0], dim=int(_dims(options)))

    return call


def _divide(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    if not all(is_torch(arg) and arg.is_floating_point() for arg in args):
        return None
    return library.div(*args)


def _permute(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    axes = _dims(options, "axes")
    return args[0].permute(*(axes or list(range(args[0].dim()))[::-1]))


def _reshape(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    return library.reshape(args[0], tuple(int(n) for n in args[1]))


def _astype(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    kind = _dtype(library, options.get("dtype"))
    return None if kind is None else args[0].to(kind)


def _concat(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    axis = _dims(options)
    if axis is None:
        return library.cat([one.reshape(-1) for one in args[0]])
    return library.cat(list(args[0]), dim=int(axis))


def _split(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    pieces = _numbers(options.get("indices_or_sections"))
    axis = int(_dims(options))
    if isinstance(pieces, int):
        length = -(-args[0].shape[axis] // pieces)
        return tuple(library.split(args[0], length, dim=axis))
    return tuple(library.tensor_split(args[0], pieces, dim=axis))


def _expand_dims(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    x = args[0]
    axes = _dims(options)
    rank = x.dim() + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = x.unsqueeze(axis)
    return x


def _squeeze(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    axes = _dims(options)
    return library.squeeze(args[0]) if axes is None else library.squeeze(args[0], dim=tuple(axes))


def _clip(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    return library.clamp(args[0], min=args[1], max=args[2])


def _leaky(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    return library.nn.functional.leaky_relu(args[0], float(_numbers(options.get("alpha"))))


def _broadcast_to(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
    return library.broadcast_to(args[0], tuple(int(n) for n in args[1]))


def _triangle(word: str) -> Callable[[Any, list[Any], dict[str, Any]], Any]:
    def call(library: Any, args: list[Any], options: dict[str, Any]) -> Any:
        k = args[1] if len(args) > 1 else options.get("k", 0)
        return getattr(library, word)(args[0], int(_numbers(k)))

    return call


_RULES: Final[dict[str, Callable[[Any, list[Any], dict[str, Any]], Any]]] = {
    "sum": _reduce("sum"),
    "mean": _reduce("mean"),
    "max": _reduce("amax"),
    "min": _reduce("amin"),
    "nn.softmax": _softmax("softmax"),
    "nn.log_softmax": _softmax("log_softmax"),
    "nn.leakyrelu": _leaky,
    "divide": _divide,
    "permute_dims": _permute,
    "reshape": _reshape,
    "astype": _astype,
    "concat": _concat,
    "split": _split,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "clip": _clip,
    "broadcast_to": _broadcast_to,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
}

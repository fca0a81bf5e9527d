"""Parameters of tests as fixtures, which several tests of a file share.

    size = tvm.testing.parameter(1, 16)
    dtype, tolerance = tvm.testing.parameters(("float16", 1e-2), ("float32", 1e-5))

    @tvm.testing.fixture
    def data(size, dtype): ...

    def test_it(data, tolerance): ...           # four runs: sizes times pairs

`tvm.testing.plugin` gives the parameters of one `parameters` their values together.
"""

from __future__ import annotations

import copy
import copyreg
import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pytest

from tvm.error import TVMError, message
from tvm.ir.node import Node

XFAIL: Final = "tvm_xfail_parameterizations"
SKIP: Final = "tvm_skip_parameterizations"


class ParameterGroup:
    """Sets of values that belong together, one value a fixture."""

    def __init__(self, value_sets: Sequence[tuple[Any, ...]], ids: Any) -> None:
        self.value_sets: Final = list(value_sets)
        self.ids: Final = ids


class GroupedParameter:
    """What a fixture of a group calls: the value that the plugin chose."""

    def __init__(self, group: ParameterGroup, index: int) -> None:
        self.group: Final = group
        self.index: Final = index


def parameter(*values: Any, ids: Any = None, by_dict: Mapping[str, Any] | None = None) -> Any:
    """A fixture that has each of the values in turn; `by_dict` gives them with their ids."""
    if by_dict is not None:
        if values or ids is not None:
            raise TVMError(
                message(
                    "make a parameter of tests",
                    found="by_dict beside values or ids",
                    legal="by_dict alone, or values (with ids)",
                )
            )
        ids, values = list(by_dict), tuple(by_dict.values())

    # the receiver, in case that the fixture stands in a class
    @pytest.fixture(scope="session", params=values, ids=ids)
    def chosen(*_receiver: Any, request: pytest.FixtureRequest) -> Any:
        return request.param

    return chosen


def parameters(*value_sets: tuple[Any, ...], ids: Any = None) -> list[Any]:
    """Fixtures that change their values together: one fixture for each position in the sets."""
    lengths = sorted({len(values) for values in value_sets})
    if len(lengths) > 1:
        raise TVMError(
            message(
                "make parameters of tests",
                found=f"sets of {' and '.join(map(str, lengths))} values",
                legal="sets of one length",
            )
        )
    group = ParameterGroup(value_sets, ids)
    return [_grouped(GroupedParameter(group, i)) for i in range(lengths[0] if lengths else 0)]


def _grouped(member: GroupedParameter) -> Any:
    def chosen(*_receiver: Any, request: pytest.FixtureRequest) -> Any:
        return request.param

    chosen.tvm_parameter = member  # type: ignore[attr-defined]
    return pytest.fixture(scope="session")(chosen)


def fixture(
    func: Callable[..., Any] | None = None, *, cache_return_value: bool = False
) -> Any:
    """`pytest.fixture`; with a cache, a value is made once for the same arguments.

    Each test gets a deep copy of a cached value. `TVM_TEST_DISABLE_CACHE=1` makes each anew.
    """
    if func is None:
        return functools.partial(fixture, cache_return_value=cache_return_value)
    if cache_return_value and os.environ.get("TVM_TEST_DISABLE_CACHE", "0") in ("", "0"):
        func = _cached(func)
    return pytest.fixture(func)


def _cached(func: Callable[..., Any]) -> Callable[..., Any]:
    values: dict[Any, Any] = {}
    is_method = next(iter(inspect.signature(func).parameters), "") == "self"

    @functools.wraps(func)
    def cached(*args: Any, **kwargs: Any) -> Any:
        # each test of a class has a receiver of its own; the value is made for the class
        receiver, given = (type(args[0]), args[1:]) if is_method and args else (None, args)
        key = (receiver, _key(given), _key({n: v for n, v in kwargs.items() if n != "self"}))
        if key not in values:
            values[key] = func(*args, **kwargs)
        _require_copies(values[key])
        return copy.deepcopy(values[key])

    return cached


def _require_copies(value: Any) -> None:
    """Refuse to hand out copies of an object whose class does not say how it is copied."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            todo += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple, set, frozenset)):
            todo += part
        elif not _is_copied(part):
            raise TypeError(
                message(
                    "keep the value of a fixture",
                    found=f"an object of class {type(part).__name__}, whose copy nobody defined",
                    legal="numbers, text, arrays, IR, containers of them, and objects with "
                    "__deepcopy__ or __reduce__",
                )
            )


def _is_copied(value: Any) -> bool:
    if value is None or isinstance(value, (int, float, complex, str, bytes, type, Node)):
        return True
    if callable(value) or hasattr(value, "__deepcopy__"):
        return True
    cls: Any = type(value)
    told = (cls.__reduce__, cls.__reduce_ex__) != (object.__reduce__, object.__reduce_ex__)
    return told or cls in copyreg.dispatch_table


def _key(value: Any) -> Any:
    """A hashable stand-in for an argument: numbers of different types are not the same."""
    if isinstance(value, (list, tuple)):
        return (type(value), *[_key(v) for v in value])
    if isinstance(value, dict):
        return (dict, *[(_key(k), _key(v)) for k, v in value.items()])
    try:
        hash(value)
    except TypeError:
        raise TVMError(
            message(
                "keep the value of a fixture",
                found=f"an argument of type {type(value).__name__}",
                legal="hashable arguments, and lists and dicts of them",
            )
        ) from None
    return type(value), value


def xfail_parameterizations(*xfail_params: str, reason: str) -> pytest.MarkDecorator:
    """Expect the runs of a test with these ids (`test_it[id]`) to fail."""
    return getattr(pytest.mark, XFAIL)(*xfail_params, reason=reason)  # type: ignore[no-any-return]


def skip_parameterizations(*skip_params: str, reason: str) -> pytest.MarkDecorator:
    """Leave out the runs of a test with these ids."""
    return getattr(pytest.mark, SKIP)(*skip_params, reason=reason)  # type: ignore[no-any-return]

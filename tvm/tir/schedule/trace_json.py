"""Attributes and decisions of instructions as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.error import CheckError
from tvm.ir.json import load_json, save_json
from tvm.ir.node import Node
from tvm.tir.expr import FloatImm, IntImm, StringImm


def store_attribute(value: Any) -> Any:
    """Numbers, strings and lists as they are; other IR nodes as their JSON text in a dict.

    A `FloatImm` stays one, as its type is not told by its value; `plain_numbers` takes those away.
    """
    if value is None or isinstance(value, (bool, int, float, str, FloatImm)):
        return value
    if isinstance(value, (IntImm, StringImm)):
        return value.value
    if isinstance(value, (list, tuple)):
        return [store_attribute(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): store_attribute(part) for key, part in value.items()}
    if isinstance(value, Node):
        return {"node": save_json(value)}
    raise CheckError(
        f"as_json: a {type(value).__name__} cannot be stored; "
        "legal: numbers, strings, lists, IR nodes"
    )


def plain_numbers(value: Any) -> Any:
    """What `store_attribute` value, for a file: each `FloatImm` as its number."""
    if isinstance(value, FloatImm):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain_numbers(part) for part in value]
    if isinstance(value, Mapping):
        return {key: plain_numbers(part) for key, part in value.items()}
    return value


def load_attribute(value: Any) -> Any:
    """What `store_attribute` value."""
    if isinstance(value, (list, tuple)):
        return [load_attribute(part) for part in value]
    if isinstance(value, Mapping):
        if set(value) == {"node"}:
            return load_json(value["node"])
        return {key: load_attribute(part) for key, part in value.items()}
    return value

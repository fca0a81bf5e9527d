"""Parameters as bytes, under the module name that scripts know."""

from __future__ import annotations

from typing import Any

from tvm.runtime.params import load_param_dict as _load
from tvm.runtime.params import save_param_dict as _save


def save_param_dict(params: dict[str, Any]) -> bytearray:
    """Tensors by name as bytes."""
    return bytearray(_save(params))


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, Any]:
    """The tensors that `save_param_dict` wrote."""
    return dict(_load(bytes(param_bytes)))

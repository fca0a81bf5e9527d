"""Importers that are not there say what is in their place."""

from __future__ import annotations

import pytest

from tvm.relay import frontend

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("from_keras", "as ONNX .*Keras 3"),
        ("from_tflite", "as ONNX .*tf2onnx --tflite"),
        ("from_mxnet", "no longer developed"),
        ("from_other", "has no attribute 'from_other'$"),
    ],
)
def test_importers_of_other_frameworks(name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=said):
        getattr(frontend, name)
    assert not hasattr(frontend, name)

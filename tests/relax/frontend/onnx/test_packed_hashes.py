"""Runs of tokens of texts behind each other, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.covering import long
from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(5)
NAMES = ("tokens", "multipliers", "rows", "limits", "past", "offsets", "end", "segments",
         "past_segments", "captured")  # fmt: skip
END = 7


def given(lengths: list[int], names: tuple[str, ...]) -> dict[str, Array]:
    total, texts = sum(lengths), len(lengths)
    tokens = RNG.integers(0, 50, total)
    tokens[RNG.random(total) < 0.3] = END
    found = {
        "tokens": tokens, "multipliers": RNG.integers(1, 99999, 3) * 2 + 1,
        "rows": RNG.integers(11, 101, 4), "limits": np.cumsum([0, *lengths]).astype("int32"),
        "past": RNG.integers(0, 50, (texts, 2)), "offsets": RNG.integers(0, 50, 4),
        "end": np.array(END), "segments": RNG.integers(0, 2, total).astype("int32"),
        "past_segments": RNG.integers(0, 2, (texts, 2)).astype("int32"),
        "captured": RNG.integers(0, 4, texts).astype("int32"),
    }  # fmt: skip
    return {name: found[name] for name in (*NAMES[:4], *names)}


def model_of(inputs: dict[str, Array], outputs: list[str], **attrs: Any) -> Any:
    names = [name if name in inputs else "" for name in NAMES]
    attrs = {"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": 5, **attrs}
    node = helper.make_node("VarlenNGramHashMapping", names, outputs, domain="com.microsoft",
                            **attrs)  # fmt: skip
    shapes = {"tokens": ["t"], "limits": ["b1"], "past": ["b", 2], "segments": ["t"],
              "past_segments": ["b", 2], "captured": ["b"]}  # fmt: skip
    return make_model([node], inputs, outputs, shapes=shapes)


@pytest.mark.parametrize(("names", "count"), [
    ((), 2), long(("past", "offsets"), 2), long(("end",), 2), (("past", "segments"), 3),
    (NAMES[4:], 4),
])  # fmt: skip
def test_texts(names: tuple[str, ...], count: int) -> None:
    runs = [given([4, 1, 6], names), given([2], names)]
    attrs = {"reset_on_eos": int("end" in names)}
    if "captured" in names:
        attrs["state_update_capacity"] = 3
    check_sizes(model_of(runs[0], [f"y{i}" for i in range(count)], **attrs), runs)


def test_refuses() -> None:
    with pytest.raises(OpAttributeInvalid, match="max_ngram_size"):
        from_onnx(model_of(given([2], ()), ["y"], max_ngram_size=1))
    with pytest.raises(OpAttributeInvalid, match="capture_count"):
        from_onnx(model_of(given([2], ()), ["y"], state_update_capacity=1))

"""Runs of tokens as numbers of rows, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(5)
NAMES = ("tokens", "multipliers", "rows", "past", "offsets", "end", "segments")
END = 7


def given(batch: int, length: int, names: tuple[str, ...]) -> dict[str, Array]:
    tokens = RNG.integers(0, 50, (batch, length))
    tokens[RNG.random(tokens.shape) < 0.3] = END
    found = {
        "tokens": tokens, "multipliers": RNG.integers(1, 99999, 3) * 2 + 1,
        "rows": RNG.integers(11, 101, 4), "past": RNG.integers(0, 50, (batch, 2)),
        "offsets": RNG.integers(0, 50, 4), "end": np.array(END),
        "segments": np.sort(RNG.integers(0, 3, (batch, length)), 1).astype("int32"),
    }  # fmt: skip
    return {name: found[name] for name in (*NAMES[:3], *names)}


def model_of(inputs: dict[str, Array], **attrs: Any) -> Any:
    names = [name if name in inputs else "" for name in NAMES]
    attrs = {"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": 5, **attrs}
    node = helper.make_node("NGramHashMapping", names, ["y", "kept"], domain="com.microsoft",
                            **attrs)  # fmt: skip
    shapes = {"tokens": ["b", "t"], "past": ["b", 2], "segments": ["b", "t"]}
    return make_model([node], inputs, ["y", "kept"], shapes=shapes)


@pytest.mark.parametrize("names", [(), ("past",), ("offsets", "end"), NAMES[3:]])
def test_runs(names: tuple[str, ...]) -> None:
    runs = [given(2, 9, names), given(1, 1, names)]
    check_sizes(model_of(runs[0], reset_on_eos=int("end" in names)), runs)


def test_refuses_runs_of_one() -> None:
    with pytest.raises(OpAttributeInvalid, match="max_ngram_size"):
        from_onnx(model_of(given(2, 9, ()), max_ngram_size=1))

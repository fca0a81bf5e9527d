"""Attention of one new token, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import tvm
from tests.relax.frontend.onnx.models import check, make_model, run_compiled

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)
NAMES = ("q", "k", "v", "mask", "added", "past_k", "past_v", "so_far", "beams", "from", "bias")


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


def model_of(arrays: dict[str, Any], outputs: int = 3, **attrs: Any) -> Any:
    """With any batch, and buffers of any length."""
    names = [name if name in arrays else "" for name in NAMES]
    while not names[-1]:
        names.pop()
    results = ["out", "keys", "values", "scores"][:outputs]
    shapes = {n: ("batch", *a.shape[1:]) for n, a in arrays.items() if n in ("q", "k", "v")}
    shapes |= {n: ("batch", 2, "room", 4) for n in arrays if n.startswith("past")}
    node = helper.make_node("DecoderMaskedMultiHeadAttention", names, results,
                            domain="com.microsoft", num_heads=2, **attrs)  # fmt: skip
    given = {name: arrays[name] for name in names if name}
    model = make_model([node], given, results, shapes=shapes)
    for value in model.graph.output[3:]:  # whose type ONNX Runtime does not infer
        value.CopyFrom(helper.make_tensor_value_info(value.name, TensorProto.FLOAT, None))
    return model


MASK = np.array([[1, 1, 1, 1], [0, 1, 1, 1]], "int32")


@pytest.mark.parametrize("more", [{}, {"bias": floats(24)}, {"mask": MASK}])
def test_buffers_that_are_written(more: Any) -> None:
    arrays = {name: floats(2, 1, 8) for name in "qkv"}
    arrays |= {"past_k": floats(2, 2, 9, 4), "past_v": floats(2, 2, 9, 4)}
    arrays |= {"so_far": np.array([3], "int32"), **more}
    arrays = {name: arrays[name] for name in NAMES if name in arrays}
    check(model_of(arrays, past_present_share_buffer=1), arrays, rtol=1e-5)


def test_buffers_have_an_end() -> None:
    arrays = {name: floats(2, 1, 8) for name in "qkv"}
    arrays |= {"past_k": floats(2, 2, 3, 4), "past_v": floats(2, 2, 3, 4)}
    arrays["so_far"] = np.array([3], "int32")
    with pytest.raises(tvm.error.TVMError, match=r"4[\s\S]*3"):
        run_compiled(model_of(arrays, past_present_share_buffer=1), arrays)


def test_caches_that_grow() -> None:
    arrays = {name: floats(2, 1, 8) for name in "qkv"}
    arrays |= {"past_k": floats(2, 2, 5, 4), "past_v": floats(2, 2, 5, 4)}
    out, keys, values = run_compiled(model_of(arrays), arrays)
    heads = [arrays[name].reshape(2, 1, 2, 4).transpose(0, 2, 1, 3) for name in "qkv"]
    whole = [np.concatenate([arrays[p], new], 2) for p, new in zip(("past_k", "past_v"), heads[1:])]
    np.testing.assert_array_equal(keys, whole[0])
    np.testing.assert_array_equal(values, whole[1])
    shares = np.exp(heads[0] @ whole[0].transpose(0, 1, 3, 2) / 2)
    shares /= shares.sum(-1, keepdims=True)
    wanted = (shares @ whole[1]).transpose(0, 2, 1, 3).reshape(2, 1, 8)
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)


def test_keys_of_an_encoder() -> None:
    arrays = {"q": floats(2, 1, 8), "k": floats(2, 2, 4, 4), "v": floats(2, 2, 4, 4)}
    check(model_of(arrays, 1), arrays, rtol=1e-5)
    arrays["mask"] = MASK
    check(model_of(arrays, 1), arrays, rtol=1e-5)


def test_which_text_of_a_prompt_a_key_is_of() -> None:
    """Two prompts, three texts each."""
    arrays = {name: floats(6, 1, 8) for name in "qkv"}
    arrays |= {"past_k": floats(6, 2, 9, 4), "past_v": floats(6, 2, 9, 4)}
    for so_far in (0, 4):
        arrays |= {"so_far": np.array([so_far], "int32"), "beams": np.array([3], "int32")}
        arrays["from"] = RNG.integers(0, 3, (2, 3, 9)).astype("int32")
        model = model_of(arrays, 4, past_present_share_buffer=1, output_qk=1)
        check(model, arrays, rtol=1e-5)


@pytest.mark.parametrize("more", [{}, {"mask": MASK}, {"added": floats(1, 2, 1, 4)}])
def test_scores(more: Any) -> None:
    arrays = {name: floats(2, 1, 8) for name in "qkv"}
    arrays |= {"past_k": floats(2, 2, 9, 4), "past_v": floats(2, 2, 9, 4)}
    arrays |= {"so_far": np.array([3], "int32"), **more}
    arrays = {name: arrays[name] for name in NAMES if name in arrays}
    check(model_of(arrays, 4, past_present_share_buffer=1, output_qk=1), arrays, rtol=1e-5)


@pytest.mark.parametrize("new", [1, 3])
def test_buffers_of_attention(new: int) -> None:
    arrays = {name: floats(6, new, 8) for name in "qkv"}
    arrays |= {"past_k": floats(6, 2, 9, 4), "past_v": floats(6, 2, 9, 4)}
    arrays["so_far"] = np.array([4], "int32")
    if new == 1:
        arrays["from"] = RNG.integers(0, 3, (2, 3, 9)).astype("int32")
    names = ("q", "k", "v", "", "", "", "past_k", "past_v", "so_far", "from")
    node = helper.make_node(
        "MultiHeadAttention", [name if name in arrays else "" for name in names],
        ["out", "keys", "values"], domain="com.microsoft", num_heads=2,
    )  # fmt: skip
    check(make_model([node], arrays, ["out", "keys", "values"]), arrays, rtol=1e-5)

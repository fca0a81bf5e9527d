"""Weights that AWQ and GPTQ have rounded: written here by their published layouts, and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.covering import long
from tests.serve import small_models
from tvm.error import TVMError
from tvm.relax.frontend.nn.llm.models.config import config_of
from tvm.relax.frontend.nn.llm.models.grouped import Grouped, open_folder
from tvm.relax.frontend.nn.llm.models.storage import is_matrix
from tvm.relax.frontend.nn.llm.models.weights import read_numbers, read_parameter
from tvm.serve.model import LanguageModel
from tvm.topi.nn import few_bits

pytestmark = pytest.mark.cpu
Arrays = dict[str, Any]
# the place of each number of a word of AWQ
ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def words(numbers: Any, bits: int, order: Any = None) -> Any:
    """Numbers of a row side by side in words of 32 bits."""
    parts = numbers if order is None else numbers.reshape(len(numbers), -1, len(order))[:, :, order]
    stream = np.unpackbits(parts.astype("uint8").reshape(len(numbers), -1, 1), axis=2,
                           bitorder="little", count=bits)  # fmt: skip
    return np.packbits(stream.reshape(len(numbers), -1), axis=1, bitorder="little").view("int32")


def layer(
    method: str, inputs: int, outputs: int, *, bits: int = 4, group: int = 32, v2: bool = False,
    shuffled: bool = False, seed: int = 0,
) -> tuple[Arrays, Any]:  # fmt: skip
    """The arrays of a layer, and the weights (out, in) that they stand for."""
    rng = np.random.default_rng(seed)
    q = rng.integers(0, 1 << bits, (inputs, outputs))
    zero = rng.integers(0, 1 << bits, (-(-inputs // group), outputs))
    scale = (rng.integers(1, 9, zero.shape) / 64).astype("float16")
    index = np.arange(inputs) // group
    if method == "awq":
        arrays = {"qweight": words(q, 4, ORDER), "qzeros": words(zero, 4, ORDER), "scales": scale}
    else:
        index = rng.permutation(index) if shuffled else index
        stored = zero if v2 else zero - 1 & (1 << bits) - 1
        arrays = {"qweight": np.ascontiguousarray(words(q.T, bits).T), "scales": scale,
                  "qzeros": words(stored, bits), "g_idx": index.astype("int32")}  # fmt: skip
    return arrays, ((q - zero[index]) * scale.astype("float32")[index]).T.astype("float32")


class Files(dict[str, Any]):
    """A checkpoint in memory."""

    def array(self, name: str) -> Any:
        return self[name]


@pytest.mark.pure
@pytest.mark.parametrize(("given", "options"), [
    ({"quant_method": "awq", "bits": 4}, {}),
    ({"quant_method": "gptq", "bits": 4}, {}),
    ({"quant_method": "gptq", "bits": 4, "checkpoint_format": "gptq_v2"}, {"v2": True}),
    ({"quant_method": "gptq", "bits": 8}, {"bits": 8, "group": 64}),
    ({"quant_method": "gptq", "bits": 2}, {"bits": 2}),
    ({"quant_method": "gptq", "bits": 3}, {"bits": 3}),
    ({"quant_method": "gptq", "bits": 4, "desc_act": True}, {"shuffled": True}),
    ({"quant_method": "gptq", "bits": 2, "group_size": 24}, {"bits": 2, "group": 24}),
    ({"quant_method": "awq", "bits": 4, "group_size": 64}, {"group": 64}),
])  # fmt: skip
def test_weights(given: Arrays, options: Arrays) -> None:
    arrays, wanted = layer(given["quant_method"], 64, 64 if given["bits"] == 3 else 48, **options)
    arrays.pop("g_idx" if given.get("group_size") else "", None)  # the last group is a shorter one
    files = Files({f"a.b.{name}": values for name, values in arrays.items()} | {"a.norm": 1})
    found = Grouped(files, given)
    assert list(found) == ["a.b.weight", "a.norm"]
    assert "a.b.weight" in found
    assert "a.c.weight" not in found
    np.testing.assert_array_equal(found.array("a.b.weight"), wanted)
    numbers = found.numbers("a.b.weight")
    if given["bits"] != 4 or "shuffled" in options:
        assert numbers is None
        return
    assert numbers is not None
    scale, zero = (np.repeat(x, 32, axis=1) for x in (numbers.scale, numbers.zero))
    np.testing.assert_array_equal((numbers.values - zero) * scale, wanted)


@pytest.mark.pure
@pytest.mark.parametrize(("given", "words"), [
    ({"quant_method": "awq", "bits": 8}, "bits in quantization_config\n  found: 8\n  legal: 4"),
    ({"quant_method": "gptq", "bits": 5}, "found: 5\n  legal: 2, 3, 4 or 8"),
    ({"quant_method": "gptq", "bits": 4, "group_size": 0}, "found: 0\n  legal: a number of"),
    ({"quant_method": "awq", "bits": 4, "version": "gemv"}, "found: 'gemv'\n  legal: gemm"),
    ({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"}, "legal: gptq, gptq_v2"),
])  # fmt: skip
def test_other_forms_are_refused(given: Arrays, words: str) -> None:
    with pytest.raises(TVMError, match=words):
        Grouped(Files(), given)


@pytest.mark.pure
def test_arrays_that_do_not_fit_are_refused() -> None:
    arrays, _ = layer("gptq", 64, 48)
    given = {"quant_method": "gptq", "bits": 4}
    files = Files({f"a.{n}": v for n, v in arrays.items()})
    with pytest.raises(TVMError, match=r"group_size 16\n  legal: arrays of as many outputs"):
        Grouped(files, given | {"group_size": 16}).array("a.weight")
    for name, value, text in (
        ("scales", arrays["scales"][:, :40], r"scales \(2, 40\)"),
        ("g_idx", arrays["g_idx"] + 1, "up to 2\n  legal: one of 2 for each of 64"),
        ("qzeros", None, "found: no array a.qzeros"),
    ):
        changed = {f"a.{n}": v for n, v in {**arrays, name: value}.items() if v is not None}
        with pytest.raises(TVMError, match=text):
            Grouped(Files(changed), given).array("a.weight")


@pytest.mark.parametrize("method", [long("awq"), "gptq"])
def test_a_model_multiplies_by_the_numbers_of_its_files(method: str, tmp_path: Path) -> None:
    """Heads and tables, which such models keep in floats, are rounded; the rest is as it was."""
    config = {**small_models.CONFIGS["llama"], "intermediate_size": 64,
              "quantization_config": {"quant_method": method, "bits": 4, "group_size": 32}}
    arrays, exact = {}, {}
    for i, (name, values) in enumerate(small_models.weights(config).items()):
        if "_proj.weight" in name:
            parts, exact[name] = layer(method, *values.shape[::-1], seed=i)
            stem = name.removesuffix("weight")
            arrays.update({stem + part: array for part, array in parts.items()})
            exact[name] = exact[name] / 8
            arrays[stem + "scales"] = (parts["scales"] / 8).astype("float16")
        else:
            arrays[name] = exact[name] = values
            if is_matrix(name):
                back = few_bits.unpack(*few_bits.pack(values, "int4"), "int4")
                exact[name] = back[: values.shape[0], : values.shape[1]]
    folder = small_models.save(tmp_path / "m", config, arrays)
    checkpoint = open_folder(folder)
    name = "model.layers.0.self_attn.qkv_proj.weight"
    assert read_numbers(checkpoint, config_of(config), name) is not None
    assert read_parameter(checkpoint, config_of(config), name).shape == (64, 32)
    model, tokens = LanguageModel.open(folder, "int4", chunk=32), [5, 9, 33, 120]
    model.add(0)
    found = model.verify({0: tokens})[0]
    wanted = small_models.logits(config, exact, np.array(tokens))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())


@pytest.mark.pure
def test_other_methods_are_refused(tmp_path: Path) -> None:
    """Bytes of a method that is not known would be taken for weights."""
    config = {**small_models.CONFIGS["llama"], "quantization_config": {"quant_method": "fp8"}}
    folder = small_models.save(tmp_path / "m", config, {"a": np.zeros(1, "float32")})
    with pytest.raises(TVMError, match=r"found: 'fp8'\n  legal: awq, gptq"):
        open_folder(folder)

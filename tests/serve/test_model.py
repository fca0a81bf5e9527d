"""Models of several families beside the formulas in numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.covering import few
from tests.serve import small_models
from tvm.error import TVMError
from tvm.serve.model import LanguageModel, open_model

pytestmark = pytest.mark.cpu
TOKENS: Any = np.random.default_rng(1).integers(3, 259, 24)


@pytest.mark.parametrize("name", few(["gemma3", "phi", "gpt2", "qwen2"], 2))
def test_logits_are_those_of_the_formulas(name: str, tmp_path: Path) -> None:
    config = small_models.CONFIGS[name]
    arrays = small_models.weights(config)
    model = LanguageModel.open(small_models.save(tmp_path / name, config, arrays), chunk=32)
    wanted = small_models.logits(config, arrays, TOKENS)
    model.add(5)
    first = model.verify({5: TOKENS[:14]})[5]
    single = model.forward({5: TOKENS[14:15]})[5]
    last = model.forward({5: TOKENS[15:]})[5]
    np.testing.assert_allclose(first, wanted[:14], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(single, wanted[14], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(last, wanted[-1], rtol=1e-3, atol=1e-4)


def test_sequences_grow_together_fork_and_shrink(model: LanguageModel) -> None:
    config = small_models.CONFIGS["llama"]
    arrays = small_models.weights(config)
    wanted = small_models.logits(config, arrays, TOKENS)
    other = np.concatenate([TOKENS[:16], TOKENS[3:9]])
    model.add(0)
    model.add(1)
    both = model.forward({0: TOKENS[:16], 1: TOKENS[:5]})
    np.testing.assert_allclose(both[0], wanted[15], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(both[1], wanted[4], rtol=1e-3, atol=1e-4)
    model.fork(0, 2, 16)
    three = model.forward({0: TOKENS[16:17], 1: TOKENS[5:6], 2: other[16:]})
    np.testing.assert_allclose(three[0], wanted[16], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(three[1], wanted[5], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        three[2], small_models.logits(config, arrays, other)[-1], rtol=1e-3, atol=1e-4
    )
    model.pop(2, 6)
    assert model.length(2) == 16
    np.testing.assert_allclose(
        model.forward({2: TOKENS[16:]})[2], wanted[-1], rtol=1e-3, atol=1e-4
    )
    before = model.free_tokens
    for name in range(3):
        model.remove(name)
    assert model.free_tokens > before


def test_tokens_out_of_range_are_refused(model: LanguageModel) -> None:
    model.add(0)
    with pytest.raises(TVMError, match="tokens of a language model\n  found: 300 to 300"):
        model.forward({0: [300]})
    model.remove(0)


def test_missing_and_misshapen_weights_are_named(tmp_path: Path) -> None:
    config = small_models.CONFIGS["qwen2"]
    arrays = small_models.weights(config)
    arrays["model.layers.1.mlp.up_prj.weight"] = arrays.pop("model.layers.1.mlp.up_proj.weight")
    folder = small_models.save(tmp_path / "a", config, arrays)
    with pytest.raises(TVMError, match=r"model.layers.1.mlp.up_proj.weight.*\n.*did you mean"):
        LanguageModel.open(folder)
    arrays = small_models.weights(config)
    arrays["model.norm.weight"] = arrays["model.norm.weight"][:5].copy()
    folder = small_models.save(tmp_path / "b", config, arrays)
    with pytest.raises(TVMError, match=r"the weights of model.norm.weight\n  found: shape \(5,\)"):
        LanguageModel.open(folder)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TVMError, match=r"the configuration .*config.json"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "lama"}')
    with pytest.raises(TVMError, match="did you mean 'llama'"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(TVMError, match="no entry 'num_attention_heads'"):
        open_model(tmp_path)
    (tmp_path / "x.gguf").write_bytes(b"GGUF????")
    with pytest.raises(TVMError, match=r"the file .*x.gguf"):
        open_model(tmp_path / "x.gguf")

"""Families beside the library that most models are published for, on random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvm.serve.model import LanguageModel

pytestmark = [pytest.mark.cpu, pytest.mark.long]
SIZES: dict[str, Any] = {
    "vocab_size": 256, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
    "num_attention_heads": 4, "max_position_embeddings": 256, "bos_token_id": 1, "eos_token_id": 2,
    "pad_token_id": 0,
}  # fmt: skip
TWO = {"num_key_value_heads": 2}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {**TWO, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64}}),
    "llama, yarn": ("LlamaConfig", {**TWO, "rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}}),
    "llama, biases": ("LlamaConfig", {"attention_bias": True, "mlp_bias": True,
        "rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
    "mistral": ("MistralConfig", {**TWO, "sliding_window": 8}),
    "qwen2": ("Qwen2Config", {**TWO, "use_sliding_window": True, "sliding_window": 8,
                              "max_window_layers": 1}),
    "qwen3": ("Qwen3Config", {**TWO, "head_dim": 32}),
    "gemma": ("GemmaConfig", {"num_key_value_heads": 1, "head_dim": 32}),
    "gemma3": ("Gemma3TextConfig", {
        "num_hidden_layers": 7, "num_key_value_heads": 1, "head_dim": 32, "sliding_window": 8,
        "query_pre_attn_scalar": 16, "final_logit_softcapping": 5.0}),
    "phi": ("PhiConfig", {}),
    "phi3": ("Phi3Config", {**TWO, "sliding_window": None}),
    "phi3, long": ("Phi3Config", {
        **TWO, "original_max_position_embeddings": 64, "rope_scaling": {
            "type": "longrope", "long_factor": [1.0 + 0.3 * i for i in range(8)],
            "short_factor": [1.0 + 0.1 * i for i in range(8)]}}),
    "gpt2": ("GPT2Config", {"n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 256}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_logits_are_theirs(case: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    name, given = CASES[case]
    sizes = {"vocab_size": 256} if name == "GPT2Config" else SIZES
    config = getattr(transformers, name)(**{**sizes, **given})
    torch.manual_seed(0)
    theirs = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for values in theirs.parameters():
            if values.ndim == 1:
                values.add_(torch.randn_like(values) * 0.3)
            else:
                values.mul_(3)
        theirs.eval().save_pretrained(tmp_path)
        tokens = np.random.default_rng(0).integers(3, 256, 100)
        wanted = theirs(torch.tensor(tokens[None])).logits[0].numpy()
    ours = LanguageModel.open(tmp_path, max_sequences=2, capacity=512, chunk=128)
    ours.add(0)
    found = [
        ours.verify({0: tokens[:70].tolist()})[0],
        *(ours.forward({0: [int(token)]})[0][None] for token in tokens[70:75]),
        ours.verify({0: tokens[75:].tolist()})[0],
    ]
    np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-4, atol=2e-5)

"""Every architecture that transformers can make, by its own configuration made small.

    python -m benchmarks.exported FOLDER --architectures [part of a name ...]

A configuration is that of the architecture with few and narrow layers; inputs are the first of
the usual ones (tokens, pictures, sound, both) that torch itself runs at three sizes.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.catalogue import Feeds, rng

SIZES = 3
UNTRIED = "not tried: "  # how a reason begins that lies before any exporting
MOST_PARAMETERS = 120_000_000
VOCABULARY = 100
BATCHES, LENGTHS, SIDES = (2, 1, 3), (16, 37, 24), ((64, 96), (96, 64), (80, 112))
SECONDS = (0.3, 0.2, 0.4)

# What numbers of a configuration become, by their names; widths are multiples of the heads.
SMALL = {
    64: ("hidden_size", "d_model", "dim", "n_embd", "embed_dim", "embedding_size", "projection_dim",
         "word_embed_proj_dim", "emb_dim", "encoder_hidden_size", "decoder_hidden_size"),
    128: ("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff",
          "hidden_dim", "max_position_embeddings", "n_positions", "n_ctx", "ffn_hidden_size",
          "dense_ffn_hidden_size", "block_ff_dim"),
    32: ("moe_intermediate_size", "shared_expert_intermediate_size", "q_lora_rank",
         "kv_lora_rank", "expert_ffn_hidden_size"),
    16: ("head_dim", "v_head_dim", "d_kv", "kv_channels", "global_head_dim"),
    8: ("qk_rope_head_dim", "qk_nope_head_dim", "rotary_dim"),
    4: ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
        "decoder_attention_heads", "num_experts", "num_local_experts", "n_routed_experts"),
    2: ("num_key_value_heads", "num_hidden_layers", "n_layer", "n_layers", "num_layers",
        "encoder_layers", "decoder_layers", "num_decoder_layers", "num_encoder_layers",
        "num_experts_per_tok", "depth", "encoder_num_hidden_layers", "num_conv_pos_embeddings"),
    1: ("n_group", "topk_group", "first_k_dense_replace"),
    10: ("num_queries",),
    VOCABULARY: ("vocab_size",),
}  # fmt: skip
NAMES = {name: value for value, names in SMALL.items() for name in names}
FEWER = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
         "decoder_layers", "num_decoder_layers", "num_encoder_layers", "vocab_size",
         "depth")  # fmt: skip


def names() -> list[str]:
    """The kinds of models that transformers has by one configuration."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return list(MODEL_MAPPING_NAMES)


def network(kind: str) -> tuple[Callable[[], Any], Callable[[int], Feeds]]:
    """How one is made, and its inputs."""
    return lambda: _found(kind)[0], lambda which: _found(kind)[1](which)


@cache
def _found(kind: str) -> tuple[Any, Callable[[int], Feeds]]:
    """The model, and inputs that torch takes at all sizes; ValueError if there are none."""
    refused = []
    for model in _models(kind):
        for inputs in _candidates(model):
            try:
                _run(model, inputs)
            except Exception as err:  # any: the next inputs may be the right ones
                refused.append(f"{sorted(inputs(0))}: {type(err).__name__}: {str(err)[:120]}")
            else:
                return model, inputs
    raise ValueError(f"{UNTRIED}torch runs it on none of the usual inputs; {refused[-1]}")


def _run(model: Any, inputs: Callable[[int], Feeds]) -> None:
    import torch

    with torch.no_grad():
        for which in range(SIZES):
            model(**{key: torch.from_numpy(value) for key, value in inputs(which).items()})


def _models(kind: str) -> Iterator[Any]:
    """With narrow layers, and if that cannot be made, with few layers."""
    import torch
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    maker: Any = transformers.AutoModel
    reasons = []
    for chosen in (tuple(NAMES), FEWER):
        try:
            torch.manual_seed(0)
            config = CONFIG_MAPPING[kind]()
            _shrink(config, chosen)
            with torch.device("meta"):
                size = sum(p.numel() for p in maker.from_config(config).parameters())
            if size > MOST_PARAMETERS:
                raise ValueError(f"{size:,} parameters")
            model = maker.from_config(config, attn_implementation="eager").eval()
        except Exception as err:  # any: configurations check themselves in their own ways
            reasons.append(f"{type(err).__name__}: {str(err)[:120]}")
        else:
            yield model
    if len(reasons) == 2:
        raise ValueError(f"{UNTRIED}no small one can be made; " + "; ".join(reasons))


def _shrink(config: Any, chosen: Sequence[str]) -> None:
    """Make a configuration small, and those within it."""
    for name, value in list(vars(config).items()):
        if hasattr(value, "to_dict") and hasattr(value, "model_type"):
            _shrink(value, chosen)
        elif name in chosen and isinstance(value, int) and not isinstance(value, bool):
            # special tokens' embeddings need no more than the vocabulary
            setattr(config, name, min(value, NAMES[name]))
        elif name.endswith("_token_id") and isinstance(value, int) and value >= VOCABULARY:
            setattr(config, name, 2 + len(name) % 7)
        elif name == "depths":
            setattr(config, name, [1] * len(value))
        elif name == "use_cache":
            setattr(config, name, False)
    layers = getattr(config, "num_hidden_layers", None)
    kinds = getattr(config, "layer_types", None)
    if isinstance(kinds, (list, tuple)) and isinstance(layers, int) and len(kinds) > layers:
        # one of each kind where there are two
        last = [kind for kind in kinds if kind != kinds[0]][: layers - 1]
        config.layer_types = [kinds[0]] * (layers - len(last)) + last


def _candidates(model: Any) -> Iterator[Callable[[int], Feeds]]:
    """The usual inputs among a model's parameters, the main one first."""
    parameters = inspect.signature(model.forward).parameters
    config, main = model.config, getattr(model, "main_input_name", "input_ids")
    makers: dict[str, list[Callable[[int], np.ndarray]]] = {
        "input_ids": [_tokens],
        "pixel_values": list(_pictures(config)),
        "pixel_values_videos": [_normal(lambda w: (BATCHES[w], 4, 3, 64, 64))],
        "input_features": [
            *(_spectrogram(bins, last=False) for bins in _bins(config)),
            *(_spectrogram(bins, last=True) for bins in _bins(config)),
        ],
        "input_values": [
            _normal(lambda w: (BATCHES[w], int(SECONDS[w] * 16000))),
            _normal(lambda w: (BATCHES[w], 1, int(SECONDS[w] * 16000))),
            _normal(lambda w: (BATCHES[w], 100 + 24 * w, 128)),
        ],
    }  # fmt: skip
    order = [name for name in (main, *makers) if name in makers and name in parameters]
    if not order:
        raise ValueError(f"{UNTRIED}none of the usual inputs among {list(parameters)}")
    for name in dict.fromkeys(order):
        for maker in makers[name]:
            yield _with_others(name, maker, parameters, decoded=False)
            if "decoder_input_ids" in parameters:
                yield _with_others(name, maker, parameters, decoded=True)
    if "input_ids" in parameters and "pixel_values" in parameters:
        for maker in makers["pixel_values"]:
            yield _with_picture(maker)


def _with_picture(maker: Callable[[int], np.ndarray]) -> Callable[[int], Feeds]:
    return lambda which: {"input_ids": _tokens(which), "pixel_values": maker(which),
                          "attention_mask": _mask(which)}  # fmt: skip


def _spectrogram(bins: int, last: bool) -> Callable[[int], np.ndarray]:
    def shape(which: int) -> tuple[int, ...]:
        frames = 100 + 24 * which
        return (BATCHES[which], frames, bins) if last else (BATCHES[which], bins, frames)

    return _normal(shape)


def _with_others(
    name: str, maker: Callable[[int], np.ndarray], parameters: Mapping[str, Any], decoded: bool
) -> Callable[[int], Feeds]:
    def inputs(which: int) -> Feeds:
        found = {name: maker(which)}
        if name == "input_ids" and "attention_mask" in parameters:
            found["attention_mask"] = _mask(which)
        if decoded:
            found["decoder_input_ids"] = rng(which + 7).integers(3, 90, (BATCHES[which], 5 + which))
        return found

    return inputs


def _tokens(which: int) -> np.ndarray:
    return rng(which).integers(10, 90, (BATCHES[which], LENGTHS[which]))


def _mask(which: int) -> np.ndarray:
    """The last three tokens of the last row do not count."""
    mask = np.ones((BATCHES[which], LENGTHS[which]), "int64")
    mask[-1, -3:] = 0
    return mask


def _normal(shape: Callable[[int], tuple[int, ...]]) -> Callable[[int], np.ndarray]:
    return lambda which: rng(which).standard_normal(shape(which)).astype("float32")


def _pictures(config: Any) -> Iterator[Callable[[int], np.ndarray]]:
    """Of any size, of the configuration's, and several of each."""
    channels = getattr(config, "num_channels", 3)
    channels = channels if isinstance(channels, int) else 3
    yield _normal(lambda w: (BATCHES[w], channels, *SIDES[w]))
    for part in (config, getattr(config, "vision_config", None)):
        side = getattr(part, "image_size", None)
        if isinstance(side, int) and side <= 512:
            yield _squares(channels, side)
    yield _squares(channels, 64)
    yield _squares(channels, 224)
    frames = getattr(config, "num_frames", None)
    side = getattr(config, "image_size", None)
    if isinstance(frames, int) and isinstance(side, int):
        yield _normal(lambda w: (BATCHES[w], frames, channels, side, side))


def _squares(channels: int, side: int) -> Callable[[int], np.ndarray]:
    return _normal(lambda which: (BATCHES[which], channels, side, side))


def _bins(config: Any) -> list[int]:
    """How many bins of frequency a spectrogram may have."""
    found = [getattr(part, name, None)
             for part in (config, getattr(config, "encoder_config", None))
             for name in ("num_mel_bins", "n_mels", "input_size", "feature_size", "input_dim",
                          "input_feat_per_channel", "feature_projection_input_dim")]  # fmt: skip
    kept = [value for value in found if isinstance(value, int) and math.isfinite(value)]
    return list(dict.fromkeys([*kept, 80, 128]))

"""Networks of others by `torch.export`, every size open, beside torch itself.

    python -m benchmarks.exported FOLDER [--architectures] [part of a name ...] [--write PAGE]

Architectures of torchvision, timm and transformers with random weights, most of them with fewer or
narrower layers, are exported with `torch.export.Dim.AUTO` for each extent that differs between the
three inputs, imported, compiled once and run at all three sizes. Each network has a process of its
own. With `--architectures` they are all that transformers can make (`benchmarks.architectures`).
With `--write` the page is made of all results so far, which are kept in the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import architectures
from benchmarks.catalogue import rng
from benchmarks.zoo import recurrent

THREADS = int(os.environ.get("TVM_NUM_THREADS", "1"))
LIMIT_S = int(os.environ.get("NETWORKS_LIMIT_S", "600"))
TURNS = 5
SIZES = 3
ARCHITECTURE = "architecture "  # names of architectures begin so


@dataclass(frozen=True)
class Network:
    """How a network is made, and its inputs by name, at three sizes; "" is for the first one."""

    name: str
    make: Callable[[], Any]
    inputs: Callable[[int], Mapping[str, np.ndarray]]


NETWORKS: dict[str, Network] = {}


def add(name: str, make: Callable[[], Any], inputs: Callable[[int], Any]) -> None:
    """Enter a network."""
    assert name not in NETWORKS, name
    NETWORKS[name] = Network(name, make, inputs)


def normal(key: str, shapes: Sequence[tuple[int, ...]]) -> Callable[[int], Any]:
    """One input of random numbers, at three sizes."""
    return lambda which: {key: rng(which).standard_normal(shapes[which]).astype("float32")}


# --- pictures ---

PICTURES = ((2, 3, 64, 96), (1, 3, 96, 64), (3, 3, 80, 112))
SQUARES = ((2, 3, 64, 64), (1, 3, 64, 64), (3, 3, 64, 64))


def _torchvision(name: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        import torchvision

        group = torchvision.models
        if name.startswith(("deeplab", "fcn", "lraspp")):
            return getattr(group.segmentation, name)(weights=None, weights_backbone=None)
        return getattr(group, name)(weights=None, **options)

    return make


def _timm(name: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        import timm

        return timm.create_model(name, pretrained=False, **options)

    return make


for _name in ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x0_5",
              "squeezenet1_1", "lraspp_mobilenet_v3_large", "mnasnet0_5"):  # fmt: skip
    add(f"torchvision {_name}", _torchvision(_name), normal("", PICTURES))
for _name, _options in {
    "efficientnet_b0": {},
    "convnext_atto": {"depths": (1, 1, 2, 1)},
    "ghostnet_050": {},
    "repvgg_a0": {},
    "poolformer_s12": {},
    "edgenext_xx_small": {"depths": (1, 1, 2, 1)},
    "efficientvit_b0": {},
}.items():
    add(f"timm {_name}", _timm(_name, **_options), normal("", PICTURES))
add("timm mixer", _timm("mixer_s32_224", img_size=64), normal("", SQUARES))
for _name, _options in {
    "mobilevitv2_050": {},
    "regnety_002": {},
    "mobilenetv4_conv_small": {},
    "inception_next_atto": {},
    "csatv2": {},
    "resnest14d": {},
    "starnet_s1": {},
}.items():
    add(f"timm {_name}", _timm(_name, **_options), normal("", PICTURES))
for _name, _options in {
    "levit_128s": {"img_size": 64},
    "xcit_nano_12_p16_224": {"img_size": 64, "depth": 2},
    "cait_xxs24_224": {"img_size": 64, "depth": 2},
    "maxvit_rmlp_pico_rw_256": {"img_size": 64},
}.items():
    add(f"timm {_name}", _timm(_name, **_options), normal("", SQUARES))


def _unet() -> Any:
    """Down, and up again with what was on the way, at sizes that do not divide."""
    import torch
    from torch import nn
    from torch.nn import functional

    def block(inputs: int, outputs: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(True),
            nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(True),
        )  # fmt: skip

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList([block(3, 16), block(16, 32)])
            self.middle = block(32, 64)
            self.up = nn.ModuleList(
                [nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)]
            )
            self.join = nn.ModuleList([block(64, 32), block(32, 16)])
            self.head = nn.Conv2d(16, 2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for down in self.down:
                x = down(x)
                kept.append(x)
                x = functional.max_pool2d(x, 2)
            x = self.middle(x)
            for up, join, beside in zip(self.up, self.join, reversed(kept)):
                x = up(x)
                more = [beside.shape[axis] - x.shape[axis] for axis in (3, 2)]
                x = functional.pad(x, [0, more[0], 0, more[1]])
                x = join(torch.cat([beside, x], 1))
            return self.head(x)

    return UNet()


add("unet", _unet, normal("", ((2, 3, 45, 61), (1, 3, 33, 40), (3, 3, 64, 50))))

# --- transformers ---

TOKENS = ((2, 16), (1, 37), (4, 64))
_SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
          "intermediate_size": 128}  # fmt: skip
_VISION = {key: value for key, value in _SMALL.items() if key != "vocab_size"}


def transformer(kind: str, config: str, part: str = "", **options: Any) -> Callable[[], Any]:
    """A class of transformers with a configuration of its own; `part` of it, if not all."""

    def make() -> Any:
        import transformers

        made = getattr(transformers, kind)(getattr(transformers, config)(**options))
        return getattr(made, part) if part else made

    return make


def tokens(
    name: str, make: Callable[[], Any], masked: bool = True, decoded: bool = False
) -> None:
    """A network on tokens, the last few of the last row masked out."""

    def inputs(which: int) -> Any:
        batch, length = TOKENS[which]
        found = {"input_ids": rng(which).integers(3, 90, (batch, length))}
        if masked:
            found["attention_mask"] = np.ones((batch, length), "int64")
            found["attention_mask"][-1, length - 3 :] = 0
        if decoded:
            found["decoder_input_ids"] = rng(which).integers(3, 90, (batch, 5 + which))
        return found

    add(name, make, inputs)


tokens("bert", transformer("BertModel", "BertConfig", **_SMALL))
tokens("distilbert", transformer(
    "DistilBertModel", "DistilBertConfig", dim=64, n_layers=2, n_heads=4, hidden_dim=128,
    vocab_size=100,
))
tokens("roberta", transformer("RobertaModel", "RobertaConfig", **_SMALL))
tokens("albert", transformer("AlbertModel", "AlbertConfig", embedding_size=64, **_SMALL))
tokens("deberta_v2", transformer(
    "DebertaV2Model", "DebertaV2Config", relative_attention=True, position_buckets=8,
    pos_att_type=["p2c", "c2p"], **_SMALL,
))
tokens("gpt2", transformer(
    "GPT2LMHeadModel", "GPT2Config", n_embd=64, n_layer=2, n_head=4, vocab_size=100,
    use_cache=False,
))
tokens("llama", transformer(
    "LlamaForCausalLM", "LlamaConfig", num_key_value_heads=2, use_cache=False, **_SMALL
))
tokens("qwen3", transformer(
    "Qwen3ForCausalLM", "Qwen3Config", num_key_value_heads=2, head_dim=16, use_cache=False,
    **_SMALL,
))
tokens("gemma2", transformer(
    "Gemma2ForCausalLM", "Gemma2Config", num_key_value_heads=2, head_dim=16, sliding_window=8,
    use_cache=False, **_SMALL,
))
tokens("opt", transformer(
    "OPTForCausalLM", "OPTConfig", hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
    vocab_size=100, ffn_dim=128, word_embed_proj_dim=64, use_cache=False,
))
tokens("bloom", transformer(
    "BloomForCausalLM", "BloomConfig", hidden_size=64, n_layer=2, n_head=4, vocab_size=100,
    use_cache=False,
))
_BOTH = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}  # fmt: skip
tokens("t5", transformer(
    "T5ForConditionalGeneration", "T5Config", d_model=64, num_layers=2, num_heads=4, d_kv=16,
    vocab_size=100, d_ff=128, use_cache=False,
), decoded=True)  # fmt: skip
tokens("bart", transformer(
    "BartForConditionalGeneration", "BartConfig", vocab_size=100, use_cache=False, **_BOTH,
    pad_token_id=1, bos_token_id=0, eos_token_id=2,
), decoded=True)  # fmt: skip
_CAUSAL = {"num_key_value_heads": 2, "use_cache": False, **_SMALL}
tokens("mistral", transformer("MistralForCausalLM", "MistralConfig", sliding_window=8, **_CAUSAL))
tokens("phi3", transformer("Phi3ForCausalLM", "Phi3Config", pad_token_id=0, **_CAUSAL))
tokens("mixtral", transformer(
    "MixtralForCausalLM", "MixtralConfig", num_local_experts=4, **_CAUSAL
))
tokens("olmo2", transformer("Olmo2ForCausalLM", "Olmo2Config", **_CAUSAL))
tokens("gpt_neox", transformer("GPTNeoXForCausalLM", "GPTNeoXConfig", use_cache=False, **_SMALL))
tokens("falcon", transformer(
    "FalconForCausalLM", "FalconConfig", hidden_size=64, num_hidden_layers=2,
    num_attention_heads=4, vocab_size=100, alibi=False, use_cache=False,
))
tokens("mamba", transformer(
    "MambaForCausalLM", "MambaConfig", hidden_size=32, num_hidden_layers=2, state_size=8,
    vocab_size=100, use_cache=False,
), masked=False)  # fmt: skip
tokens("fnet", transformer("FNetModel", "FNetConfig", hidden_size=64, num_hidden_layers=2,
                           vocab_size=100, intermediate_size=128), masked=False)  # fmt: skip
tokens("roformer", transformer("RoFormerModel", "RoFormerConfig", **_SMALL))
tokens("squeezebert", transformer(
    "SqueezeBertModel", "SqueezeBertConfig", embedding_size=64, **_SMALL
))
tokens("xlnet", transformer(
    "XLNetModel", "XLNetConfig", d_model=64, n_layer=2, n_head=4, d_inner=128, vocab_size=100,
    use_mems_eval=False,
))
tokens("mbart", transformer(
    "MBartForConditionalGeneration", "MBartConfig", vocab_size=100, use_cache=False,
    pad_token_id=1, bos_token_id=0, eos_token_id=2, **_BOTH,
), decoded=True)  # fmt: skip
tokens("clip text", transformer("CLIPTextModel", "CLIPTextConfig", eos_token_id=99, **_SMALL))

_SOUNDS = ((2, 4345), (1, 3000), (3, 6000))
_SPEECH = {"conv_dim": (32,) * 4, "conv_kernel": (10, 3, 3, 2), "conv_stride": (5, 2, 2, 2),
           "num_feat_extract_layers": 4, "num_conv_pos_embeddings": 16,
           "num_conv_pos_embedding_groups": 4, "apply_spec_augment": False, **_VISION}  # fmt: skip
add("wav2vec2", transformer("Wav2Vec2Model", "Wav2Vec2Config", **_SPEECH),
    normal("input_values", _SOUNDS))
add("whisper encoder", transformer(
    "WhisperModel", "WhisperConfig", "encoder", vocab_size=100, num_mel_bins=40,
    max_source_positions=50, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    decoder_start_token_id=3, **_BOTH,
), normal("input_features", ((2, 40, 100), (1, 40, 100), (3, 40, 100))))
add("segformer", transformer(
    "SegformerForSemanticSegmentation", "SegformerConfig", hidden_sizes=[16, 32, 40, 64],
    depths=[1, 1, 1, 1], decoder_hidden_size=64, num_labels=7,
), normal("pixel_values", PICTURES))
add("vit", transformer("ViTModel", "ViTConfig", image_size=64, patch_size=8, **_VISION),
    normal("pixel_values", SQUARES))
add("dinov2", transformer(
    "Dinov2Model", "Dinov2Config", image_size=56, patch_size=14, hidden_size=64,
    num_hidden_layers=2, num_attention_heads=4,
), normal("pixel_values", ((2, 3, 84, 56), (1, 3, 56, 112), (3, 3, 112, 84))))
add("swin", transformer(
    "SwinModel", "SwinConfig", image_size=64, embed_dim=32, depths=[2, 2], num_heads=[2, 4],
    window_size=4,
), normal("pixel_values", SQUARES))
add("convnextv2", transformer(
    "ConvNextV2Model", "ConvNextV2Config", hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1],
), normal("pixel_values", PICTURES))
add("dpt", transformer(
    "DPTForDepthEstimation", "DPTConfig", image_size=64, patch_size=16, backbone_out_indices=[0, 1],
    reassemble_factors=[4, 2], neck_hidden_sizes=[16, 32], fusion_hidden_size=32,
    neck_ignore_stages=[], **_VISION,
), normal("pixel_values", SQUARES))
add("patchtst", transformer(
    "PatchTSTForPrediction", "PatchTSTConfig", num_input_channels=3, context_length=64,
    patch_length=8, patch_stride=8, d_model=32, num_hidden_layers=2, num_attention_heads=4,
    ffn_dim=64, prediction_length=12,
), normal("past_values", ((2, 64, 3), (1, 64, 3), (5, 64, 3))))
_BACKBONE = {"embedding_size": 16, "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1],
             "layer_type": "basic"}  # fmt: skip


def _detr() -> Any:
    import transformers

    backbone = transformers.ResNetConfig(out_features=["stage4"], **_BACKBONE)
    config = transformers.DetrConfig(
        use_timm_backbone=False, backbone_config=backbone, num_queries=10, **_BOTH,
    )  # fmt: skip
    return transformers.DetrForObjectDetection(config)


add("detr", _detr, normal("pixel_values", PICTURES))

# --- recurrent ---


for _name in ("LSTM", "GRU", "RNN"):
    add(f"frames {_name}", recurrent(_name), normal("", ((2, 40, 33), (1, 40, 33), (4, 40, 33))))


# --- measuring ---


def module_of(network: Network) -> Any:
    """The module in evaluation mode, all of its numbers random."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    module = network.make().eval()
    with torch.no_grad():
        for name, buffer in module.named_buffers():
            if "running_var" in name:
                buffer.uniform_(0.5, 1.5)
            elif "running_mean" in name:
                buffer.normal_(0, 0.1)
        for weight in module.parameters():
            # equal ones (zeros, ones) hide faults, and let ties decide what top-k chooses
            if weight.is_floating_point() and weight.numel() and weight.min() == weight.max():
                weight.add_(torch.randn_like(weight) * 0.1)
    return module


def exported(network: Network) -> tuple[Any, Any]:
    """The module in evaluation mode, and its exported program."""
    import torch

    module = module_of(network)
    given = [network.inputs(which) for which in range(SIZES)]
    dims = {
        key: {
            axis: torch.export.Dim.AUTO
            for axis in range(value.ndim)
            if len({one[key].shape[axis] for one in given}) > 1
        }
        for key, value in given[0].items()
    }
    args, named = _arguments(given[0])
    shapes = dims if named else tuple(dims.values())
    with torch.no_grad():
        return module, torch.export.export(module, args, named, dynamic_shapes=shapes)


def _arguments(given: Mapping[str, np.ndarray]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    import torch

    tensors = {key: torch.from_numpy(value) for key, value in given.items()}
    named = {key: tensor for key, tensor in tensors.items() if key}
    return tuple(tensor for key, tensor in tensors.items() if not key), named


def measured(name: str) -> dict[str, Any]:
    """Seconds to export, import and compile, and at each size the error and the times in ms."""
    import torch

    import tvm
    from tvm import relax
    from tvm.relax.frontend.torch import from_exported_program

    result: dict[str, Any] = {"name": name, "threads": THREADS}
    if name.startswith(ARCHITECTURE):
        network = Network(name, *architectures.network(name.removeprefix(ARCHITECTURE)))
    else:
        network = NETWORKS[name]
    start = time.perf_counter()
    module, program = exported(network)
    done = time.perf_counter()
    result["export_s"] = round(done - start, 1)
    start, mod = done, from_exported_program(program)
    done = time.perf_counter()
    result["import_s"] = round(done - start, 1)
    start, machine = done, relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    result["compile_s"] = round(time.perf_counter() - start, 1)
    result["sizes"] = []
    for which in range(SIZES):
        given = network.inputs(which)
        args, named = _arguments(given)
        values = [tvm.runtime.tensor(value) for value in given.values()]
        shapes = " ".join("x".join(map(str, value.shape)) for value in given.values())
        with torch.no_grad():
            if (refusal := _refusal(program, args, named)) is not None:
                result["sizes"].append({"shapes": shapes, "refused": refusal})
                continue
            wanted = _tensors(module(*args, **named))
            got = _tensors(machine["main"](*values))
            error = _error([w.numpy() for w in wanted], [g.numpy() for g in got])
            times = _alternating(
                [lambda v=values: machine["main"](*v), lambda a=args, n=named: module(*a, **n)]
            )
        result["sizes"].append({"shapes": shapes, "error": error, "ms": times})
    return result


def _refusal(program: Any, args: Any, named: Any) -> str | None:
    """Why torch's own program does not take a size: exporting it has narrowed what is legal."""
    try:
        program.module()(*args, **named)
    except Exception as err:  # guards are of several kinds
        return f"{type(err).__name__}: {str(err)[:160]}"
    return None


def _tensors(value: Any) -> list[Any]:
    """The tensors of a result, in order."""
    if hasattr(value, "numpy"):
        return [value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return []
    parts = value.values() if hasattr(value, "values") else value
    return [one for part in parts for one in _tensors(part)]


def _error(wanted: Sequence[np.ndarray], got: Sequence[np.ndarray]) -> float:
    """The largest difference, by the largest element."""
    shapes = [(w.shape, w.dtype) for w in wanted], [(g.shape, g.dtype) for g in got]
    if shapes[0] != shapes[1]:
        raise ValueError(f"results are {shapes[1]}, and torch's {shapes[0]}")
    worst = 0.0
    for want, have in zip(wanted, got):
        same = want == have
        if same.all():
            continue
        largest = float(np.abs(want[np.isfinite(want)]).max(initial=1e-9))
        apart = np.abs(np.where(same, 0, have.astype("float64") - np.where(same, 0, want)))
        worst = max(worst, float(np.where(np.isnan(apart), np.inf, apart).max()) / largest)
    return float(f"{worst:.2g}")


def _alternating(runs: Sequence[Callable[[], Any]]) -> list[float]:
    """The fastest of some turns of each, in ms."""
    best = [float("inf")] * len(runs)
    for _ in range(TURNS):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
    return [round(seconds * 1e3, 3) for seconds in best]


def _in_process(name: str) -> dict[str, Any]:
    """What `measured` gives, or how it failed."""
    command = [sys.executable, "-m", "benchmarks.exported", "--one", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"name": name, "threads": THREADS, "failed": f"not done after {LIMIT_S} s"}
    if done.returncode == 0:
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return found
    last = done.stderr.strip().splitlines()
    return {"name": name, "threads": THREADS, "failed": "\n".join(last[-12:])[-1500:]}


def page(results: Mapping[str, Any]) -> str:
    """The results as a page of the documents."""
    whole, results = results, {n: r for n, r in results.items() if not n.startswith(ARCHITECTURE)}
    done = [r for r in results.values() if "failed" not in r]
    errors = [size["error"] for r in done for size in r["sizes"] if "error" in size]
    lines = [
        "# Networks of others by torch.export",
        "",
        "Written by `python -m benchmarks.exported FOLDER --write docs/exported.md`.",
        "",
        "Architectures of torchvision, timm and transformers with random weights, most of them "
        "with fewer or narrower layers, exported with `torch.export.Dim.AUTO` for each extent "
        "that differs between the inputs; one compiled program runs at all sizes. The error is "
        "the largest difference to torch by its largest element; times are ms, the fastest of "
        f"{TURNS} alternating runs on {THREADS} thread, ours and torch's own. The two cores "
        "were busy with other jobs: compare times within a row only.",
        "",
        f"{len(done)} of {len(results)} networks run; the largest error is "
        f"{max(errors, default=0):.2g}.",
        "",
        "| network | import s | compile s | inputs | error | ours | torch |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in [n for n in NETWORKS if n in results]:
        result = results[name]
        if "failed" in result:
            reason = result["failed"].splitlines()[-1][:160]
            lines.append(f"| {name} | failed: {reason} | | | | | |")
            continue
        first = f"{name} | {result['import_s']} | {result['compile_s']}"
        for size in result["sizes"]:
            ours, torchs = size.get("ms", ("", ""))
            error = size.get("error", "torch's own program refuses")
            lines.append(f"| {first} | {size['shapes']} | {error} | {ours} | {torchs} |")
            first = "| |"
    return "\n".join([*lines, *_architectures_page(whole)]) + "\n"


def _architectures_page(results: Mapping[str, Any]) -> list[str]:
    """A line for each architecture of transformers, and what could not be tried."""
    found = {n.removeprefix(ARCHITECTURE): r for n, r in sorted(results.items())
             if n.startswith(ARCHITECTURE)}  # fmt: skip
    if not found:
        return []
    failed = {name: r["failed"].splitlines()[-1] for name, r in found.items() if "failed" in r}
    untried = [name for name, text in failed.items() if architectures.UNTRIED in text]
    done = {name: r for name, r in found.items() if name not in failed}
    lines = [
        "",
        "## Architectures of transformers",
        "",
        "Written with `--architectures`: each architecture by its own configuration made small, on "
        "the first of the usual inputs that torch itself runs at three sizes. A size that torch's "
        "own exported program refuses is not run here either.",
        "",
        f"{len(found)} tried; of {len(untried)} torch runs none of the usual inputs; "
        f"{len(done)} run, {len(failed) - len(untried)} fail.",
        "",
        "| architecture | inputs | import s | compile s | errors |",
        "|---|---|---|---|---|",
    ]
    for name, result in done.items():
        sizes = result["sizes"]
        errors = ", ".join(str(size.get("error", "refused")) for size in sizes)
        lines.append(f"| {name} | {sizes[0]['shapes']} | {result['import_s']} | "
                     f"{result['compile_s']} | {errors} |")  # fmt: skip
    lines += [f"| {name} | failed: {failed[name][:160]} | | | |"
              for name in failed if name not in untried]  # fmt: skip
    return [*lines, "", "Not tried: " + ", ".join(untried) + "."]


def main() -> None:
    """Measure the networks whose names hold one of the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--architectures", action="store_true")
    parser.add_argument("--write", metavar="PAGE")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.folder)))
        return
    folder = Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"exported-{THREADS}.json"
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    names = [ARCHITECTURE + kind for kind in architectures.names()] if given.architectures else [
        *NETWORKS
    ]  # fmt: skip
    for name in names:
        if given.write is not None and not given.parts:
            break
        if not any(part in name for part in given.parts or [""]):
            continue
        results[name] = _in_process(name)
        kept.write_text(json.dumps(results, indent=1))
        print(json.dumps(results[name]), flush=True)
    if given.write is not None:
        Path(given.write).write_text(page(results))


if __name__ == "__main__":
    main()

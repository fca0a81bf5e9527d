"""Networks as others build and export them, every size open: architectures with random weights.

    python -m benchmarks.zoo FOLDER [part of a name ...]

writes each network as an ONNX file into a folder, unless it is there. Needed are torch,
torchvision, timm, transformers, skl2onnx and onnxruntime; networks with trained weights
(`benchmarks.shipped`) are taken from the packages that ship them.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import shipped  # noqa: F401  enters its networks
from benchmarks.catalogue import NETWORKS, Feeds, add, file_of, images, rng

# --- torch, by both of its exporters ---


def torch_export(
    model: Callable[[], Any], args: Callable[[], Sequence[Any]], names: Sequence[str],
    dims: Mapping[str, Mapping[int, str]], *, dynamo: bool, opset: int = 18,
    outputs: Sequence[str] | None = None, several: bool = False,
) -> Callable[[Path], None]:  # fmt: skip
    """A module exported with open sizes."""

    def write(target: Path) -> None:
        import torch

        torch.manual_seed(0)
        module, values = model().eval(), tuple(args())
        options: dict[str, Any] = {"dynamic_axes": {k: dict(v) for k, v in dims.items()}}
        if dynamo:
            shapes = {
                name: {axis: torch.export.Dim.DYNAMIC for axis in dims.get(name, {})}
                for name in names
            }
            every = tuple(shapes.values())  # `forward(*args)` has one parameter, a tuple
            options = {"dynamic_shapes": (every,) if several else every, "external_data": False}
        with torch.no_grad():
            torch.onnx.export(
                module, values, str(target), input_names=list(names), output_names=outputs,
                opset_version=opset, dynamo=dynamo, **options,
            )

    return write


SIDES = (224, 160, 96)
PICTURE: dict[str, dict[int, str]] = {"x": {0: "batch", 2: "height", 3: "width"}}


def picture_network(
    name: str, model: Callable[[], Any], sides: Sequence[int] = SIDES,
    open_sides: bool = True, channels: int = 3, **options: Any,
) -> None:  # fmt: skip
    """A network on pictures, by both exporters."""
    dims = PICTURE if open_sides else {"x": {0: "batch"}}
    used = list(sides) if open_sides else [sides[0]] * 3
    shapes = [(b, channels, s, s if not open_sides else s + 32 * i)
              for i, (b, s) in enumerate(zip((1, 2, 3), used))]  # fmt: skip

    def args() -> Sequence[Any]:
        import torch

        return [torch.randn(2, channels, used[0], used[0])]

    for way, dynamo in (("script", False), ("dynamo", True)):
        write = torch_export(model, args, ["x"], dims, dynamo=dynamo, **options)
        add(f"{name} ({way})", write, images("x", shapes))


def _torchvision(name: str) -> Callable[[], Any]:
    def make() -> Any:
        import torchvision

        group = torchvision.models
        if "deeplab" in name or "lraspp" in name or "fcn" in name:
            module = getattr(group.segmentation, name)(weights=None, weights_backbone=None)
            return _picked(module, "out")
        options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return getattr(group, name)(weights=None, **options)

    return make


def _picked(module: Any, key: str) -> Any:
    import torch

    class Picked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, x: Any) -> Any:
            return self.module(x)[key]

    return Picked()


for _name in ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x0_5",
              "squeezenet1_1", "efficientnet_b0", "densenet121", "regnet_y_400mf", "mnasnet0_5",
              "convnext_tiny",
              "swin_t", "lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large"):  # fmt: skip
    picture_network(f"torchvision {_name}", _torchvision(_name))


def _timm(name: str) -> Callable[[], Any]:
    def make() -> Any:
        import timm

        return timm.create_model(name, pretrained=False, exportable=True)

    return make


for _name in ("ghostnet_100", "mobileone_s0", "repvgg_a0", "hrnet_w18_small", "edgenext_xx_small",
              "poolformer_s12", "mobilevitv2_050", "fastvit_t8", "xcit_nano_12_p16_224",
              "efficientvit_b0", "tf_efficientnet_lite0"):  # fmt: skip
    picture_network(f"timm {_name}", _timm(_name))
for _name in ("vit_tiny_patch16_224", "mixer_s32_224", "levit_128s", "deit_tiny_patch16_224"):
    picture_network(f"timm {_name}", _timm(_name), open_sides=False)


# --- transformers ---

TOKENS = ((1, 16), (2, 37), (4, 64))


def token_network(
    name: str, make: Callable[[], Any], names: Sequence[str] = ("input_ids", "attention_mask"),
    extra: Callable[[int], Feeds] | None = None, extra_dims: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:  # fmt: skip
    """A network on tokens, by both exporters."""

    def feeds(which: int) -> Feeds:
        batch, length = TOKENS[which]
        found: Feeds = {"input_ids": rng(which).integers(1, 90, (batch, length))}
        if "attention_mask" in names:
            mask = np.ones((batch, length), "int64")
            mask[-1, length - 3 :] = 0
            found["attention_mask"] = mask
        if extra is not None:
            found |= extra(which)
        return {key: found[key] for key in names}

    dims: dict[str, Any] = {key: {0: "batch", 1: "length"} for key in names[:2]}
    dims |= dict(extra_dims or {})

    def args() -> Sequence[Any]:
        import torch

        return [torch.from_numpy(value) for value in feeds(1).values()]

    def model() -> Any:
        return _wrapped(make(), names)

    for way, dynamo in (("script", False), ("dynamo", True)):
        write = torch_export(model, args, names, dims, dynamo=dynamo, several=True, **options)
        add(f"{name} ({way})", write, feeds)


def _wrapped(module: Any, names: Sequence[str]) -> Any:
    """The module with plain tensors as inputs and its first result."""
    import torch

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *args: Any) -> Any:
            found = self.module(**dict(zip(names, args)), return_dict=False)
            return found[0]

    return Plain()


_SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
          "intermediate_size": 128}  # fmt: skip


def _transformer(kind: str, config: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        import transformers

        chosen = getattr(transformers, config)(**options)
        return getattr(transformers, kind)(chosen)

    return make


token_network("bert", _transformer("BertModel", "BertConfig", **_SMALL))
token_network("distilbert", _transformer(
    "DistilBertModel", "DistilBertConfig", dim=64, n_layers=2, n_heads=4, hidden_dim=128,
    vocab_size=100,
))
token_network("roberta", _transformer("RobertaModel", "RobertaConfig", **_SMALL))
token_network("electra", _transformer("ElectraModel", "ElectraConfig", embedding_size=64, **_SMALL))
token_network("albert", _transformer("AlbertModel", "AlbertConfig", embedding_size=64, **_SMALL))
token_network("mpnet", _transformer("MPNetModel", "MPNetConfig", **_SMALL))
token_network("deberta_v2", _transformer("DebertaV2Model", "DebertaV2Config", **_SMALL))
token_network("gpt2", _transformer(
    "GPT2LMHeadModel", "GPT2Config", n_embd=64, n_layer=2, n_head=4, vocab_size=100,
    use_cache=False,
))
token_network("llama", _transformer(
    "LlamaForCausalLM", "LlamaConfig", num_key_value_heads=2, use_cache=False, **_SMALL
))
token_network("qwen2", _transformer(
    "Qwen2ForCausalLM", "Qwen2Config", num_key_value_heads=2, use_cache=False, **_SMALL
))
token_network("opt", _transformer(
    "OPTForCausalLM", "OPTConfig", hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
    vocab_size=100, ffn_dim=128, word_embed_proj_dim=64, use_cache=False,
))
token_network("mobilebert", _transformer(
    "MobileBertModel", "MobileBertConfig", vocab_size=100, hidden_size=32, embedding_size=16,
    num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, intra_bottleneck_size=16,
))
token_network("convbert", _transformer(
    "ConvBertModel", "ConvBertConfig", embedding_size=64, **_SMALL
))
token_network("modernbert", _transformer(
    "ModernBertModel", "ModernBertConfig", pad_token_id=0, bos_token_id=1, eos_token_id=2,
    cls_token_id=1, sep_token_id=2, **_SMALL,
))
token_network("bloom", _transformer(
    "BloomForCausalLM", "BloomConfig", vocab_size=100, hidden_size=64, n_layer=2, n_head=4,
    use_cache=False,
))
token_network("gemma2", _transformer(
    "Gemma2ForCausalLM", "Gemma2Config", head_dim=16, num_key_value_heads=1, use_cache=False,
    **_SMALL,
))
token_network("qwen3", _transformer(
    "Qwen3ForCausalLM", "Qwen3Config", head_dim=16, num_key_value_heads=2, use_cache=False,
    **_SMALL,
))
token_network(
    "t5", _transformer(
        "T5ForConditionalGeneration", "T5Config", d_model=64, num_layers=2, num_heads=4, d_kv=16,
        vocab_size=100, d_ff=128, use_cache=False,
    ),
    ("input_ids", "attention_mask", "decoder_input_ids"),
    lambda which: {"decoder_input_ids": rng(which).integers(1, 90, (TOKENS[which][0], 5 + which))},
    {"decoder_input_ids": {0: "batch", 1: "decoded"}},
)  # fmt: skip


def sound_network(name: str, make: Callable[[], Any], key: str, shapes: Sequence[tuple[int, ...]],
                  dims: Mapping[int, str]) -> None:  # fmt: skip
    """A network on sound, by both exporters."""

    def args() -> Sequence[Any]:
        import torch

        return [torch.from_numpy(images(key, shapes)(1)[key])]

    for way, dynamo in (("script", False), ("dynamo", True)):
        write = torch_export(lambda: _wrapped(make(), [key]), args, [key], {key: dims},
                             dynamo=dynamo, several=True)  # fmt: skip
        add(f"{name} ({way})", write, images(key, shapes))


sound_network("wav2vec2", _transformer(
    "Wav2Vec2Model", "Wav2Vec2Config", hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=128, conv_dim=(32,) * 7, num_conv_pos_embeddings=16,
    num_conv_pos_embedding_groups=4, apply_spec_augment=False,
), "input_values", [(1, 8000), (2, 12345), (3, 16000)], {0: "batch", 1: "samples"})
sound_network("hubert", _transformer(
    "HubertModel", "HubertConfig", hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=128, conv_dim=(32,) * 7, num_conv_pos_embeddings=16,
    num_conv_pos_embedding_groups=4, apply_spec_augment=False,
), "input_values", [(1, 8000), (2, 12345), (3, 16000)], {0: "batch", 1: "samples"})
sound_network("segformer", _transformer(
    "SegformerForSemanticSegmentation", "SegformerConfig", hidden_sizes=[16, 32, 40, 64],
    decoder_hidden_size=64, num_labels=7,
), "pixel_values", [(1, 3, 128, 128), (2, 3, 96, 160), (3, 3, 64, 64)],
    {0: "batch", 2: "height", 3: "width"})


def recurrent(kind: str) -> Callable[[], Any]:
    """A network over frames of sound."""
    def make() -> Any:
        import torch

        class Frames(torch.nn.Module):
            """A convolution over frames, then a recurrent layer in both directions."""

            def __init__(self) -> None:
                super().__init__()
                self.conv = torch.nn.Conv1d(40, 64, 5, padding=2)
                layer = getattr(torch.nn, kind)
                self.layer = layer(64, 48, batch_first=True, bidirectional=True)
                self.last = torch.nn.Linear(96, 30)

            def forward(self, x: Any) -> Any:
                seen, _ = self.layer(torch.relu(self.conv(x)).transpose(1, 2))
                return self.last(seen).log_softmax(-1)

        return Frames()

    return make


for _name in ("LSTM", "GRU", "RNN"):
    _shapes = [(1, 40, 50), (2, 40, 33), (4, 40, 80)]
    add(f"frames {_name} (script)", torch_export(
        recurrent(_name),
        lambda: [__import__("torch").randn(2, 40, 30)], ["x"],
        {"x": {0: "batch", 2: "frames"}}, dynamo=False,
    ), images("x", _shapes))


# --- scikit-learn ---


def sklearn_network(name: str, make: Callable[[], Any]) -> None:
    """A model trained on a few made-up rows, any number of rows at run time."""

    def write(target: Path) -> None:
        from skl2onnx import to_onnx

        source = rng(7)
        x = source.standard_normal((200, 8)).astype("float32")
        y = (x[:, 0] + x[:, 1] ** 2 > 0.7).astype("int64") + (x[:, 2] > 1)
        model = make().fit(x, y)
        options = {"zipmap": False} if hasattr(model, "predict_proba") else None
        proto = to_onnx(model, x[:1], options={id(model): options} if options else None,
                        target_opset=17)  # fmt: skip
        target.write_bytes(proto.SerializeToString())

    shapes = [(1, 8), (7, 8), (100, 8)]
    add(f"sklearn {name}", write, images("X", shapes))


def _sklearn(path: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        module, kind = path.rsplit(".", 1)
        return getattr(importlib.import_module(f"sklearn.{module}"), kind)(**options)

    return make


def _pipeline() -> Any:
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), PCA(4), LogisticRegression())


sklearn_network("logistic regression", _sklearn("linear_model.LogisticRegression"))
sklearn_network("random forest", _sklearn("ensemble.RandomForestClassifier", n_estimators=20))
sklearn_network("boosted trees", _sklearn("ensemble.GradientBoostingClassifier", n_estimators=20))
sklearn_network("histogram trees", _sklearn("ensemble.HistGradientBoostingClassifier", max_iter=20))
sklearn_network("support vectors", _sklearn("svm.SVC", probability=True))
sklearn_network("nearest neighbours", _sklearn("neighbors.KNeighborsClassifier"))
sklearn_network("perceptron", _sklearn("neural_network.MLPClassifier", max_iter=30))
sklearn_network("naive bayes", _sklearn("naive_bayes.GaussianNB"))
sklearn_network("k-means", _sklearn("cluster.KMeans", n_clusters=4))
sklearn_network("ridge", _sklearn("linear_model.Ridge"))
sklearn_network("pipeline", _pipeline)


# --- quantised, and in half precision ---


def made_of(other: str, change: Callable[[Path, Path], None]) -> Callable[[Path], None]:
    """Another network's file, changed."""

    def write(target: Path) -> None:
        source = target.with_name(f"of {target.name}")
        NETWORKS[other].write(source)
        try:
            change(source, target)
        finally:
            source.unlink()

    return write


def _dynamic(source: Path, target: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(str(source), str(target))


def _static(other: str) -> Callable[[Path, Path], None]:
    def change(source: Path, target: Path) -> None:
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

        class Reader(CalibrationDataReader):  # type: ignore[misc]
            def __init__(self) -> None:
                self.left = [NETWORKS[other].inputs(0) for _ in range(2)]

            def get_next(self) -> Feeds | None:
                return self.left.pop() if self.left else None

        quantize_static(str(source), str(target), Reader(), quant_format=QuantFormat.QDQ)

    return change


def _half(source: Path, target: Path) -> None:
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = convert_float_to_float16(
        onnx.load(str(source)), keep_io_types=True, op_block_list=["Resize", "Softmax"]
    )
    onnx.save(model, str(target))


for _other in ("torchvision resnet18 (script)", "torchvision mobilenet_v2 (script)"):
    add(f"static int8 {_other}", made_of(_other, _static(_other)), NETWORKS[_other].inputs)
    add(f"half {_other}", made_of(_other, _half), NETWORKS[_other].inputs)
for _other in ("bert (script)", "gpt2 (script)", "torchvision mobilenet_v3_small (script)"):
    add(f"dynamic int8 {_other}", made_of(_other, _dynamic), NETWORKS[_other].inputs)


def main(folder: str, *parts: str) -> None:
    """Write the networks whose names hold one of the parts."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, network in NETWORKS.items():
        target = file_of(Path(folder), name)
        if target.exists() or not any(part in name for part in parts or [""]):
            continue
        try:
            network.write(target)
            print(f"{name}: {target.stat().st_size / 1e6:.1f} MB", flush=True)
        except Exception as err:  # one that cannot be exported stops no other
            target.unlink(missing_ok=True)
            print(f"{name}: not written: {type(err).__name__}: {str(err)[:300]}", flush=True)
            traceback.print_exc(limit=-3)


if __name__ == "__main__":
    main(*sys.argv[1:])

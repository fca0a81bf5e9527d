"""ONNX networks for `benchmarks.imports`: by torch's newer exporter, then as others rewrite them.

`dynamo`: networks of `benchmarks.exported`, architectures of transformers
(`benchmarks.architectures`) and timm's of `TIMM`, each extent that differs between the inputs open.
`optimised`: such files after ONNX Runtime's optimisers, as it saves them. `quantised`: after its
tools for fewer bits, and in half precision. All are compared with ONNX Runtime on the same file;
`quantised` ones without its optimisations, which round elsewhere than the file says.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch

import tvm
from benchmarks import architectures, exported
from benchmarks.catalogue import rng
from benchmarks.imports import Case, Source, difference
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

Change = Callable[[Path, Path, Any], None]
TIMM = (
    "resnet10t", "mobilenetv3_small_050", "ghostnet_050", "regnety_002", "repvgg_a0", "lcnet_050",
    "convnext_atto", "edgenext_xx_small", "efficientvit_b0", "efficientvit_m0", "fasternet_t0",
    "fastvit_t8", "hgnetv2_b0", "mambaout_femto", "mnasnet_small", "mobilenetv4_conv_small",
    "mobilevit_xxs", "mobilevitv2_050", "poolformer_s12", "pvt_v2_b0", "repghostnet_050",
    "repvit_m0_9", "resnest14d", "rexnet_100", "shvit_s1", "skresnet18", "starnet_s1",
    "swiftformer_xs", "tinynet_e", "tiny_vit_5m_224", "xcit_nano_12_p16_224",
)  # fmt: skip


def cases(group: str) -> dict[str, Case]:
    """The networks of a group: `dynamo`, `optimised`, `quantised`."""
    torch.set_num_threads(1)
    if group == "dynamo":
        found = {**exported.NETWORKS, **{f"timm.{name}": _timm(name) for name in TIMM}}
        found |= {f"architecture.{kind}": _architecture(kind) for kind in architectures.names()}
        return {name: _compared(network) for name, network in found.items()}
    changes = OPTIMISED if group == "optimised" else QUANTISED
    plain = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options = {"graph_optimization_level": plain} if group == "quantised" else {}
    return {
        f"{how} {name}": _compared(exported.NETWORKS[name], change, **options)
        for how, (change, names) in changes.items() for name in names
    }  # fmt: skip


def _architecture(kind: str) -> exported.Network:
    return exported.Network(kind, *architectures.network(kind))


def _timm(name: str) -> exported.Network:
    def make() -> Any:
        import timm

        return timm.create_model(name, pretrained=False, exportable=True)

    def pictures(which: int) -> dict[str, np.ndarray]:
        shape = ((2, 3, 64, 96), (1, 3, 96, 64), (3, 3, 128, 96))[which]
        return {"": rng(which).standard_normal(shape).astype("float32")}

    return exported.Network(name, make, pictures)


def _compared(
    network: exported.Network, change: Change | None = None, **options: Any
) -> Case:
    """`options`: of ONNX Runtime's session."""

    def run() -> Iterator[tuple[str, float]]:
        with tempfile.TemporaryDirectory() as folder:
            path, changed = Path(folder) / "network.onnx", Path(folder) / "changed.onnx"
            try:
                _export(network, path)
                if change is not None:
                    change(path, changed, network)
                    path = changed
                session = _session(path, **options)
                names = [value.name for value in session.get_inputs()]
                runs = [dict(zip(names, network.inputs(w).values())) for w in range(exported.SIZES)]
                wanted = [_run(session, feeds) for feeds in runs]
            except Exception as err:  # what is not exported, not changed, does not run
                raise Source(f"{type(err).__name__}: {err}") from err
            model = onnx.load(str(path))
        machine = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
        for feeds, want in zip(runs, wanted):
            if want is not None:
                got = exported._tensors(machine["main"](*feeds.values()))
                shapes = " ".join("x".join(map(str, value.shape)) for value in feeds.values())
                yield shapes, difference(want, [value.numpy() for value in got])

    return run


def _export(network: exported.Network, path: Path) -> None:
    given = [network.inputs(which) for which in range(exported.SIZES)]
    dims = {
        key: {axis: torch.export.Dim.AUTO for axis in range(value.ndim)
              if len({one[key].shape[axis] for one in given}) > 1}
        for key, value in given[0].items()
    }  # fmt: skip
    args, named = exported._arguments(given[0])
    shapes: Any = dims if named else tuple(dims.values())
    module = exported.module_of(network)
    with torch.no_grad():
        program = torch.onnx.export(
            module, args, kwargs=named, dynamic_shapes=shapes, dynamo=True, verbose=False
        )
    assert program is not None
    program.save(str(path), external_data=False)


def _session(path: Path, **options: Any) -> Any:
    chosen = ort.SessionOptions()
    chosen.log_severity_level, chosen.intra_op_num_threads = 4, 1
    for key, value in options.items():
        setattr(chosen, key, value)
    return ort.InferenceSession(str(path), chosen)


def _run(session: Any, feeds: Mapping[str, np.ndarray]) -> list[Any] | None:
    """None for a size that the exported file does not take."""
    try:
        found: list[Any] = session.run(None, dict(feeds))
    except Exception:  # of several kinds
        return None
    return found


# --- as others rewrite them ---


def _fused(kind: str, **options: Any) -> Change:
    def change(source: Path, target: Path, network: Any) -> None:
        from onnxruntime.transformers import optimizer
        from onnxruntime.transformers.fusion_options import FusionOptions

        chosen: Any = FusionOptions(kind)
        for key, value in options.items():
            setattr(chosen, key, value)
        made = optimizer.optimize_model(
            str(source), kind, num_heads=4, hidden_size=64, optimization_options=chosen, opt_level=0
        )
        made.save_model_to_file(str(target))

    return change


def _saved(level: str) -> Change:
    def change(source: Path, target: Path, network: Any) -> None:
        chosen = getattr(ort.GraphOptimizationLevel, level)
        _session(source, graph_optimization_level=chosen, optimized_model_filepath=str(target))

    return change


def _static(form: str, **options: Any) -> Change:
    def change(source: Path, target: Path, network: Any) -> None:
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

        names = [value.name for value in _session(source).get_inputs()]

        class Reader(CalibrationDataReader):  # type: ignore[misc]
            left = [dict(zip(names, network.inputs(0).values())) for _ in range(2)]

            def get_next(self) -> Any:
                return self.left.pop() if self.left else None

        where, chosen = os.getcwd(), getattr(QuantFormat, form)
        os.chdir(target.parent)  # it writes files of its own
        try:
            quantize_static(str(source), str(target), Reader(), quant_format=chosen, **options)
        finally:
            os.chdir(where)

    return change


def _dynamic(source: Path, target: Path, network: Any) -> None:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(str(source), str(target))


def _half(source: Path, target: Path, network: Any) -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = convert_float_to_float16(onnx.load(str(source)), keep_io_types=True)
    onnx.save(model, str(target))


_TOKENS = ("bert", "distilbert", "roberta", "gpt2", "t5", "llama", "bart")
_SEEN = ("timm ghostnet_050", "timm efficientnet_b0", "torchvision mobilenet_v3_small", "vit")
OPTIMISED: dict[str, tuple[Change, tuple[str, ...]]] = {
    "bert": (_fused("bert"), ("bert", "distilbert", "roberta")),
    "bert-heads": (_fused("bert", use_multi_head_attention=True), ("bert",)),
    "gpt2": (_fused("gpt2"), ("gpt2",)), "t5": (_fused("t5"), ("t5",)),
    "bart": (_fused("bart"), ("bart", "whisper encoder")), "vit": (_fused("vit"), ("vit",)),
    "extended": (_saved("ORT_ENABLE_EXTENDED"), (*_TOKENS, *_SEEN)),
    "layout": (_saved("ORT_ENABLE_ALL"), (*_TOKENS, *_SEEN, "unet", "wav2vec2")),
}  # fmt: skip
QUANTISED: dict[str, tuple[Change, tuple[str, ...]]] = {
    "qdq": (_static("QDQ", per_channel=True), ("bert", "segformer", "convnextv2", *_SEEN)),
    "qoperator": (_static("QOperator"), ("bert", *_SEEN)),
    "dynamic": (_dynamic, _TOKENS),
    "half": (_half, (*_TOKENS, *_SEEN)),
}

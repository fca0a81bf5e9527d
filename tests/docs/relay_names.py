"""`docs/relay.md`: names of v0.18 that are not there, by kind, with the reasons.

`python -m tests.docs.relay_names --write`
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from typing import Final, NamedTuple

from tests.docs.pages import ROOT
from tests.structure import reference
from tests.structure.reference import Entry

PAGE = ROOT / "docs" / "relay.md"
BEGIN, END = "<!-- names: begin -->", "<!-- names: end -->"


class Kind(NamedTuple):
    """Names of a kind: the modules they are in, as prefixes, and why they are left out."""

    title: str
    modules: tuple[str, ...]
    reason: str


_UNKEPT: Final = ("caffe", "caffe2", "darknet", "mxnet", "mxnet_qnn_op_utils", "oneflow")
_BY_ONNX: Final = (
    "coreml", "keras", "paddlepaddle", "tensorflow", "tensorflow2", "tensorflow_ops",
    "tensorflow_parser", "tflite", "tflite_flexbuffer",
)  # fmt: skip
_PARTNERS: Final = ("clml", "dnnl", "ethosn", "ethosu", "libtorch", "mrvl", "vitis_ai")
KINDS: Final = (
    Kind("importers of frameworks that write ONNX: Keras, Paddle, TensorFlow, TFLite, Core ML",
         tuple(f"tvm.relay.frontend.{name}" for name in _BY_ONNX),
         "`from_onnx` reads what Keras 3, paddle2onnx, tf2onnx and onnxmltools write"),
    Kind("importers of frameworks that are no longer developed: Caffe, Darknet, MXNet, OneFlow",
         tuple(f"tvm.relay.frontend.{name}" for name in _UNKEPT),
         "the frameworks get no releases any more"),
    Kind("insides of the importers for ONNX and PyTorch",
         ("tvm.relay.frontend.onnx", "tvm.relay.frontend.pytorch",
          "tvm.relay.frontend.pytorch_utils", "tvm.relay.frontend.qnn_torch"),
         "the importers of Relax read the model (`tvm.relax.frontend`)"),
    Kind("Arm's Ethos-U: operators, kernels, command streams",
         ("tvm.relay.backend.contrib.ethosu",), "its compiler (Vela) writes the commands"),
    Kind("tables of partners' compilers",
         tuple(f"tvm.relay.op.contrib.{name}" for name in _PARTNERS),
         "they ask their makers' tools; those of cuDNN, cuBLAS, CUTLASS, oneDNN, TensorRT, Arm's "
         "Compute Library, CMSIS-NN, BNNS and CLML are there"),
    Kind("arguments of compute functions, and forms of products of one target",
         ("tvm.relay.op.strategy", "tvm.relay.qnn.strategy"),
         "an operator of Relay has its own way; a user's strategy wraps its function itself"),
    Kind("rules of operators under functions' names",
         ("tvm.relay.op._algorithm", "tvm.relay.op._reduce", "tvm.relay.op._tensor",
          "tvm.relay.op._transform", "tvm.relay.op.dyn", "tvm.relay.op.image._image",
          "tvm.relay.op.nn._nn", "tvm.relay.op.vision._rcnn", "tvm.relay.op.vision._vision",
          "tvm.relay.qnn.op._qnn"),
         "an operator's declaration holds them; extents that are values are computed by it too"),
    Kind("kernels of one library or target",
         ("tvm.relay.op.nn.nn", "tvm.relay.op.op_attrs", "tvm.relay.qnn.op.qnn"),
         "NNPACK's layouts of weights, and marks of searches that are gone"),
    Kind("images and networks for those importers",
         ("tvm.relay.testing.darknet", "tvm.relay.testing.tf", "tvm.relay.testing.tflite",
          "tvm.relay.testing.yolo_detection"), "as the importers"),
    Kind("steps of a program written as Python", ("tvm.relay.testing.py_converter",),
         "`to_python` and `run_as_python` are there"),
    Kind("memory plans by a pass in Python", ("tvm.relay.transform.memory_plan",),
         "Relax plans memory (`StaticPlanBlockMemory`); `relay.backend.GraphPlanMemory` tells it"),
)  # fmt: skip


@cache
def missing() -> tuple[Entry, ...]:
    """The names of the reference that are not there."""
    return tuple(
        entry for entry in reference.entries()
        if entry.module.startswith("tvm.relay") and reference.find(entry) is reference.MISSING
    )  # fmt: skip


def kind_of(entry: Entry) -> Kind | None:
    """The kind with the longest prefix of the entry's module."""
    found = [
        (len(prefix), kind)
        for kind in KINDS
        for prefix in kind.modules
        if entry.module == prefix or entry.module.startswith(f"{prefix}.")
    ]
    return max(found, key=lambda pair: pair[0])[1] if found else None


def text() -> str:
    """The table, by falling counts."""
    counts = Counter(kind.title for entry in missing() if (kind := kind_of(entry)) is not None)
    total = sum(entry.module.startswith("tvm.relay") for entry in reference.entries())
    rows = [
        f"| {kind.title} | {counts[kind.title]} | {kind.reason} |"
        for kind in sorted(KINDS, key=lambda kind: -counts[kind.title])
        if counts[kind.title]
    ]
    head = f"Of {total} names of v0.18, {total - len(missing())} are there; the others by kind:"
    return "\n".join([head, "", "| names | how many | why |", "|---|---|---|", *rows])


def page() -> str:
    """The page with the table as it is now."""
    written = PAGE.read_text(encoding="utf-8")
    before, rest = written.split(BEGIN)
    return f"{before}{BEGIN}\n{text()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(page(), encoding="utf-8")

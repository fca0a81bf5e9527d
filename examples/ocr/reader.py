"""The three networks in their order: where text is, which way up, what it says."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .boxes import text_boxes
from .pictures import Picture, cut_out, resized

Batch = NDArray[np.float32]
Network = Callable[[Batch], Batch]
FILES = {
    "detector": "ch_PP-OCRv4_det_infer.onnx",
    "direction": "ch_ppocr_mobile_v2.0_cls_infer.onnx",
    "recogniser": "ch_PP-OCRv4_rec_infer.onnx",
}
HEIGHT, DIRECTION_WIDTH, LONGEST, AT_ONCE = 48, 192, 960, 6
SURE = 0.9


@dataclass(frozen=True)
class Line:
    """A line of text: where, what, and how sure."""

    box: NDArray[np.float64]
    text: str
    score: float


class Reader:
    """Reads pictures; `engine` says what runs the networks: tvm or onnxruntime."""

    def __init__(self, engine: str = "tvm") -> None:
        import onnx

        folder = models_folder()
        make = {"tvm": compiled, "onnxruntime": session}[engine]
        self._detect, self._turned, self._recognise = (
            make(folder / FILES[name]) for name in FILES
        )
        model = onnx.load(str(folder / FILES["recogniser"]), load_external_data=False)
        notes = {entry.key: entry.value for entry in model.metadata_props}
        self.characters = ["", *notes["character"].splitlines(), " "]

    def read(self, picture: Picture) -> list[Line]:
        """The lines of text in a picture (h, w, 3) of red, green, blue."""
        picture = np.ascontiguousarray(picture[..., ::-1])  # the networks learned blue, green, red
        boxes = self.boxes(picture)
        pieces = [cut_out(picture, box) for box in boxes]
        pieces = self._upright(pieces)
        return [
            Line(box, text, score)
            for box, (text, score) in zip(boxes, self.texts(pieces))
            if text and score > 0.5
        ]

    def boxes(self, picture: Picture) -> list[NDArray[np.float64]]:
        """Where text is."""
        height, width = picture.shape[:2]
        scale = min(1.0, LONGEST / max(height, width))
        rows, columns = (max(round(n * scale / 32) * 32, 32) for n in (height, width))
        scores = self._detect(as_batch([resized(picture, rows, columns)], columns))
        ratio = np.array([width / columns, height / rows])
        return [box * ratio for box in text_boxes(scores[0, 0])]

    def _upright(self, pieces: list[Picture]) -> list[Picture]:
        """Pieces that stand on their heads are turned round."""
        if not pieces:
            return pieces
        small = [fitted(piece, DIRECTION_WIDTH) for piece in pieces]
        chances = self._turned(as_batch(small, DIRECTION_WIDTH))
        return [
            piece[::-1, ::-1] if chance[1] > SURE else piece
            for piece, chance in zip(pieces, chances)
        ]

    def texts(self, pieces: Sequence[Picture]) -> list[tuple[str, float]]:
        """What pieces say; those of like widths are read together."""
        found: list[tuple[str, float]] = [("", 0.0)] * len(pieces)
        ratios = [piece.shape[1] / piece.shape[0] for piece in pieces]
        order = sorted(range(len(pieces)), key=lambda i: ratios[i])
        for start in range(0, len(order), AT_ONCE):
            group = order[start : start + AT_ONCE]
            width = max(int(np.ceil(HEIGHT * ratios[group[-1]])), 16)
            batch = as_batch([fitted(pieces[i], width) for i in group], width)
            for i, chances in zip(group, self._recognise(batch)):
                found[i] = decoded(chances, self.characters)
        return found


def fitted(piece: Picture, width: int) -> Picture:
    """The piece as high as the networks want it, and at most this wide."""
    natural = int(np.ceil(HEIGHT * piece.shape[1] / piece.shape[0]))
    return resized(piece, HEIGHT, max(min(natural, width), 1))


def as_batch(pictures: Sequence[Picture], width: int) -> Batch:
    """Pictures of one height as numbers of -1 ... 1, zeros on the right of narrow ones."""
    batch = np.zeros((len(pictures), 3, pictures[0].shape[0], width), np.float32)
    for row, picture in zip(batch, pictures):
        numbers = (picture.astype(np.float32) / 255 - 0.5) / 0.5
        row[:, :, : picture.shape[1]] = numbers.transpose(2, 0, 1)
    return batch


def decoded(chances: Batch, characters: Sequence[str]) -> tuple[str, float]:
    """The text of columns (steps, characters): the best of each, repeats and blanks dropped."""
    best = chances.argmax(1)
    kept = np.flatnonzero((best != 0) & np.concatenate([[True], best[1:] != best[:-1]]))
    if not kept.size:
        return "", 0.0
    text = "".join(characters[best[i]] for i in kept)
    return text, float(chances[kept, best[kept]].mean())


def models_folder() -> Path:
    """Where the installed package keeps its networks."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    if found is None or found.origin is None:
        raise SystemExit("the networks come with an extra: pip install -e '.[ocr]'")
    return Path(found.origin).parent / "models"


def compiled(path: Path) -> Network:
    """A network compiled for all sizes."""
    import onnx

    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    model = onnx.load(str(path))
    source = model.graph.input[0].type.tensor_type.shape.dim
    names = ("batch", "channels", "height", "width")
    shape: list[Any] = [
        dim.dim_value if dim.dim_value > 0 else name for dim, name in zip(source, names)
    ]
    mod = from_onnx(model, shape_dict={model.graph.input[0].name: shape})
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    return lambda batch: np.asarray(machine["main"](batch).numpy())


def session(path: Path) -> Network:
    """The same network on ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    runs = onnxruntime.InferenceSession(str(path), options)
    name = runs.get_inputs()[0].name
    return lambda batch: np.asarray(runs.run(None, {name: batch})[0])

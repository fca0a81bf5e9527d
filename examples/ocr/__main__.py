"""python -m examples.ocr PICTURE: the text in a picture, and the picture with its places."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from .pictures import with_boxes
from .reader import Reader


def main() -> None:
    """Read one picture."""
    parser = argparse.ArgumentParser(prog="python -m examples.ocr", description=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--out", type=Path, default=Path("ocr.png"), help="the drawn result")
    parser.add_argument("--engine", choices=("tvm", "onnxruntime"), default="tvm")
    options = parser.parse_args()
    from PIL import Image  # comes with the networks' package

    picture = np.asarray(Image.open(options.picture).convert("RGB"))
    start = time.perf_counter()
    reader = Reader(options.engine)
    ready = time.perf_counter()
    lines = reader.read(picture)
    done = time.perf_counter()
    for line in lines:
        print(f"{line.score:.2f}  {line.text}")
    Image.fromarray(with_boxes(picture, [line.box for line in lines])).save(options.out)
    print(f"{len(lines)} lines in {(done - ready) * 1e3:.0f} ms, networks ready after "
          f"{ready - start:.1f} s; drawn in {options.out}")  # fmt: skip


if __name__ == "__main__":
    main()

"""`tvmc`: models of Relay compiled, tuned and run from a command line, or by four functions.

model = tvmc.load("net.onnx", shape_dict={"x": [1, 3, 224, 224]})
package = tvmc.compile(model, target="llvm", package_path="net.tar")
result = tvmc.run(package, device="cpu", inputs={"x": image})
print(result.get_output("output_0"), result.format_times())

`python -m tvm.driver.tvmc compile --target llvm -o net.tar net.onnx` does the same.
"""

from __future__ import annotations

from .autotuner import tune_model as tune
from .compiler import compile_model as compile
from .errors import TVMCException, TVMCImportError
from .frontends import load_model as load
from .main import register_parser
from .model import TVMCModel, TVMCPackage, TVMCResult
from .runner import run_module as run

__all__ = [
    "TVMCException", "TVMCImportError", "TVMCModel", "TVMCPackage", "TVMCResult", "compile",
    "load", "register_parser", "run", "tune",
]  # fmt: skip

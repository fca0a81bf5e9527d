"""ONNX files of others for `benchmarks.imports`: models of scikit-learn, LightGBM and XGBoost.

Each is trained on a few hundred rows, written with an open number of rows by `skl2onnx` (or
`onnxmltools`), and compared with ONNX Runtime on 1, 7 and 64 rows.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

import tvm
from benchmarks.imports import Case, Source, difference
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

ROWS, TRAINED, FEATURES = (1, 7, 64), 200, 6
# meta-estimators, by what they hold
WITHIN = {"classifier": "LogisticRegression", "regressor": "Ridge"}


def cases(group: str) -> dict[str, Case]:
    """Estimators that the converter knows, by name."""
    if group == "trees":
        return {name: _compared(lambda m=make: _tree(*m)) for name, make in TREES.items()}
    from skl2onnx import supported_converters  # type: ignore[import-not-found]
    from sklearn.utils import all_estimators  # type: ignore[import-untyped]

    known = {name.removeprefix("Sklearn") for name in supported_converters(True)}
    return {name: _compared(lambda n=name, c=kind: _sklearn(n, c))
            for name, kind in all_estimators() if name in known or name[:-1] in known
            or any(name.endswith(end) for end in ("Classifier", "Regressor", "SVC"))}  # fmt: skip


def _data() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.random((TRAINED, FEATURES)).astype("float32")
    numbers = (x @ rng.random(FEATURES) + rng.random(TRAINED) * 0.1).astype("float32") + 0.1
    return x, numbers, np.digitize(numbers, np.quantile(numbers, (0.3, 0.7)))


def _fitted(model: Any) -> Any:
    x, numbers, classes = _data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regressor = import_module("sklearn.base").is_regressor(model)
        return model.fit(x, numbers if regressor else classes)


def _sklearn(name: str, kind: Any) -> Any:
    from skl2onnx import to_onnx

    given: dict[str, Any] = {}
    needed = [p for p in inspect.signature(kind).parameters.values() if p.default is p.empty]
    linear = import_module("sklearn.linear_model")
    for parameter in needed:
        if parameter.name in ("estimator", "base_estimator"):
            which = "regressor" if "Regressor" in name else "classifier"
            given[parameter.name] = getattr(linear, WITHIN[which])()
        elif parameter.name == "estimators":
            which = "regressor" if "Regressor" in name else "classifier"
            given["estimators"] = [("one", getattr(linear, WITHIN[which])())]
    if "random_state" in inspect.signature(kind).parameters:
        given["random_state"] = 0
    model = _fitted(kind(**given))
    return to_onnx(model, _data()[0][:1])


TREES = {
    f"{package} {kind}": (package, kind, options)
    for package, kind, options in (
        ("lightgbm", "LGBMClassifier", {}), ("lightgbm", "LGBMRegressor", {}),
        ("xgboost", "XGBClassifier", {}), ("xgboost", "XGBRegressor", {}),
    )
}  # fmt: skip


def _tree(package: str, kind: str, options: Any) -> Any:
    tools: Any = import_module("onnxmltools")
    types: Any = import_module("onnxmltools.convert.common.data_types")
    model = _fitted(getattr(import_module(package), kind)(n_estimators=10, **options))
    convert = tools.convert_lightgbm if package == "lightgbm" else tools.convert_xgboost
    return convert(model, initial_types=[("x", types.FloatTensorType([None, FEATURES]))],
                   target_opset=15)  # fmt: skip


def _compared(make: Callable[[], Any]) -> Case:
    def run() -> Iterator[tuple[str, float]]:
        import onnxruntime

        try:
            model = make()
            session = onnxruntime.InferenceSession(model.SerializeToString())
            feed = session.get_inputs()[0].name
            given = [np.random.default_rng(n).random((n, FEATURES)).astype("float32") for n in ROWS]
            wanted = [session.run(None, {feed: x}) for x in given]
        except Exception as err:  # what does not train, is not written, does not run
            raise Source(f"{type(err).__name__}: {err}") from err
        machine = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
        for x, want in zip(given, wanted):
            made = machine["main"](x)
            got = [made] if hasattr(made, "numpy") else list(made)
            if isinstance(want[-1], list):  # a list of maps from classes to probabilities
                want[-1] = np.array([list(row.values()) for row in want[-1]], "float32")
            yield str(x.shape), difference(want, [_array(value) for value in got])

    return run


def _array(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else np.asarray([
        list(row.values()) if hasattr(row, "values") else row for row in value
    ])  # fmt: skip

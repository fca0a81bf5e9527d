"""The recipe for Kubernetes is what the operator takes, and says what the text says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tvm.meta_schedule.cluster.ray_engine import DEFAULT_PORT

yaml: Any = pytest.importorskip("yaml", reason="pyyaml is not installed")
pytestmark = pytest.mark.pure

PAGE = Path(__file__).resolve().parents[3] / "docs" / "tuning-cluster.md"


def recipe() -> dict[str, Any]:
    (text,) = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (found,) = yaml.safe_load_all(text)
    return dict(found)


def test_fields_of_a_ray_cluster() -> None:
    found = recipe()
    assert (found["apiVersion"], found["kind"]) == ("ray.io/v1", "RayCluster")
    assert set(found) == {"apiVersion", "kind", "metadata", "spec"}
    spec = found["spec"]
    assert set(spec) == {"rayVersion", "headGroupSpec", "workerGroupSpecs"}
    assert set(spec["headGroupSpec"]) == {"rayStartParams", "template"}
    for group in spec["workerGroupSpecs"]:
        assert {"groupName", "replicas", "minReplicas", "maxReplicas", "template"} <= set(group)
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    for params in [g["rayStartParams"] for g in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]:
        assert all(isinstance(value, str) for value in params.values()), "they are options of ray"


def test_cores_are_whole_and_their_own() -> None:
    spec = recipe()["spec"]
    (head,) = spec["headGroupSpec"]["template"]["spec"]["containers"]
    assert head["ports"] == [{"containerPort": DEFAULT_PORT, "name": "client"}]
    for group in spec["workerGroupSpecs"]:
        (worker,) = group["template"]["spec"]["containers"]
        resources = worker["resources"]
        assert resources["requests"] == resources["limits"]
        assert resources["limits"]["cpu"].isdecimal()
        assert worker["image"] == head["image"]

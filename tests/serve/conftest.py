"""One small model for the tests of what stands on models."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve import small_models
from tests.unoptimised import as_written
from tests.unoptimised import code_as_it_is_written as code_as_it_is_written
from tvm.serve.model import LanguageModel


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a Llama with random weights."""
    config = small_models.CONFIGS["llama"]
    made = small_models.save(
        tmp_path_factory.mktemp("models") / "small", config, small_models.weights(config)
    )
    small_models.add_tokenizer(made)
    return made


@pytest.fixture(scope="session")
def model(folder: Path, pytestconfig: pytest.Config) -> LanguageModel:
    """The model, compiled once; tests leave no sequences in it."""
    with as_written(pytestconfig):
        return LanguageModel.open(folder, max_sequences=6, capacity=512, chunk=32)

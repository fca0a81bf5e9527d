"""Language models by their published names: configurations, modules, weights."""

from .config import ModelConfig, config_of, read_config
from .decoder import DecoderLM

__all__ = ["DecoderLM", "ModelConfig", "config_of", "read_config"]

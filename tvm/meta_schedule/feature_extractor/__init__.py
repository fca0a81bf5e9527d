"""Feature extractors: what a learned cost model sees of a schedule."""

from .feature_extractor import FeatureExtractor, PyFeatureExtractor, create
from .per_store_feature import PerStoreFeature
from .random_feature_extractor import RandomFeatureExtractor

__all__ = [
    "FeatureExtractor", "PerStoreFeature", "PyFeatureExtractor", "RandomFeatureExtractor",
    "create",
]  # fmt: skip

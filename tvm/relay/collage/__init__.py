"""Collage: a program's parts go to whichever of several compilers runs them fastest."""

from .collage import MEASURE_NUMBER as MEASURE_NUMBER
from .collage import MEASURE_REPEAT as MEASURE_REPEAT
from .collage import WARMUP_MIN_REPEAT_MS as WARMUP_MIN_REPEAT_MS
from .cost_estimator import CostEstimator as CostEstimator
from .cost_estimator import CustomCostEstimator as CustomCostEstimator
from .cost_estimator import MockCostEstimator as MockCostEstimator

"""Random numbers by keys."""

from .kernel import multinomial as multinomial
from .kernel import normal as normal
from .kernel import threefry_generate as threefry_generate
from .kernel import threefry_key as threefry_key
from .kernel import threefry_split as threefry_split
from .kernel import uniform as uniform

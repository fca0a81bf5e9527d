"""Operators whose loops run on the threads of a GPU."""

from .scan import *
from .sort import *

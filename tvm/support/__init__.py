"""Helpers that know nothing of compilers: registries, frozen maps, lazy packages, names, dtypes."""

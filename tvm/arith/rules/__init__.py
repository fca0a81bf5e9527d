"""Algebra of index expressions as tables of rules, one file for each node kind."""

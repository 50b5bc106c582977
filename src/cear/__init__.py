"""Completes knowledge bases in two stages: retrieve every entity fast, re-rank the best ones together."""

__version__ = "0.1.0"

"""Reasons: why an answer is ranked where it is, for a person to check and for a program to read."""

from cear.explaining.explainer import explain
from cear.explaining.reasons import Reasons, Rival, SimilarFact

__all__ = ["Reasons", "Rival", "SimilarFact", "explain"]

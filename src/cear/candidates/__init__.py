"""The seam of the system: the best k entities of each query, on disk, made so that Stage 2 learns from honest lists."""

from cear.candidates.config import CandidatesConfig, CrossfitConfig
from cear.candidates.crossfit import fold_by_pair, folds_of, hold_out
from cear.candidates.files import read_lists, write_lists
from cear.candidates.foreign import bring_lists, lists_of
from cear.candidates.lists import Known, Lists, Manifest, distinct_lists, joined, labels, make_lists, sample_queries
from cear.candidates.retrievers import Found, Retrievers, union, with_given
from cear.candidates.scored import AllScores, Scored, SearchedScores, score_block, scores_everybody

__all__ = [
    "AllScores",
    "CandidatesConfig",
    "CrossfitConfig",
    "Found",
    "Known",
    "Lists",
    "Manifest",
    "Retrievers",
    "Scored",
    "SearchedScores",
    "bring_lists",
    "distinct_lists",
    "fold_by_pair",
    "folds_of",
    "hold_out",
    "joined",
    "labels",
    "lists_of",
    "make_lists",
    "read_lists",
    "sample_queries",
    "score_block",
    "scores_everybody",
    "union",
    "with_given",
    "write_lists",
]

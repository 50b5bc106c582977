"""The seam of the system: the best k entities of each query, on disk, made so that Stage 2 learns from honest lists."""

from cear.candidates.config import CandidatesConfig, CrossfitConfig
from cear.candidates.crossfit import Fold, crossfit_folds, fold_by_pair, hold_out, joined
from cear.candidates.files import read_lists, write_lists
from cear.candidates.lists import Lists, Manifest, distinct_lists, labels, make_lists, sample_queries
from cear.candidates.retrievers import Retrievers, load_retrievers, scores_of, train_retrievers

__all__ = [
    "CandidatesConfig",
    "CrossfitConfig",
    "Fold",
    "Lists",
    "Manifest",
    "Retrievers",
    "crossfit_folds",
    "distinct_lists",
    "fold_by_pair",
    "hold_out",
    "joined",
    "labels",
    "load_retrievers",
    "make_lists",
    "read_lists",
    "sample_queries",
    "scores_of",
    "train_retrievers",
    "write_lists",
]

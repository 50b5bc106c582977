"""The seam of the system: the best k entities of each query, on disk, made so that Stage 2 learns from honest lists."""

from cear.candidates.config import CandidatesConfig, CrossfitConfig
from cear.candidates.crossfit import crossfit_lists, fold_by_pair, hold_out
from cear.candidates.files import read_lists, write_lists
from cear.candidates.lists import Lists, Manifest, among, distinct_lists, labels, make_lists

__all__ = [
    "CandidatesConfig",
    "CrossfitConfig",
    "Lists",
    "Manifest",
    "among",
    "crossfit_lists",
    "distinct_lists",
    "fold_by_pair",
    "hold_out",
    "labels",
    "make_lists",
    "read_lists",
    "write_lists",
]

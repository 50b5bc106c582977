"""The system itself: retrievers, re-ranker and fusion as one ranker. What is measured is what is served."""

from cear.ranking.evaluating import confusion, evaluate_ranker
from cear.ranking.files import read_places, write_places
from cear.ranking.places import Places, rank_in_lists
from cear.ranking.ranker import Ranker
from cear.ranking.validation import Validation

__all__ = [
    "Places",
    "Ranker",
    "Validation",
    "confusion",
    "evaluate_ranker",
    "rank_in_lists",
    "read_places",
    "write_places",
]

"""The system itself: retrievers, re-ranker and fusion as one ranker. What is measured is what is served."""

from cear.ranking.evaluating import confusion, evaluate_ranker
from cear.ranking.files import read_places, write_places
from cear.ranking.newcomers import NewEntity, cannot_take, extended, with_newcomers
from cear.ranking.places import Places, rank_in_lists
from cear.ranking.ranker import Ranker
from cear.ranking.reading import Reading
from cear.ranking.validation import Validation

__all__ = [
    "NewEntity",
    "Places",
    "Ranker",
    "Reading",
    "Validation",
    "cannot_take",
    "confusion",
    "evaluate_ranker",
    "extended",
    "rank_in_lists",
    "read_places",
    "with_newcomers",
    "write_places",
]

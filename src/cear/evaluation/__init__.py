"""Filtered ranks with stated tie rules, measures, intervals, paired tests, and a check for leaks."""

from cear.evaluation.asking import Asked, evaluate, sample_facts, valid_mrr
from cear.evaluation.evaluation import Evaluation, Intervals, Summary
from cear.evaluation.frames import about, from_frame, read_ranks, to_frame, write_ranks
from cear.evaluation.leaks import LeakReport, find_equal_score_leak, refuse_leaks
from cear.evaluation.measures import MRR, STANDARD, Hits, Measure, measure
from cear.evaluation.ranking import Golds, as_mentions, rank, rank_all, rank_rows, rank_under_filters
from cear.evaluation.scores import ScoresEntities, checked_scores
from cear.evaluation.significance import Difference, compare

__all__ = [
    "MRR",
    "STANDARD",
    "Asked",
    "Difference",
    "Evaluation",
    "Golds",
    "Hits",
    "Intervals",
    "LeakReport",
    "Measure",
    "ScoresEntities",
    "Summary",
    "about",
    "as_mentions",
    "checked_scores",
    "compare",
    "evaluate",
    "find_equal_score_leak",
    "from_frame",
    "measure",
    "rank",
    "rank_all",
    "rank_rows",
    "rank_under_filters",
    "read_ranks",
    "refuse_leaks",
    "sample_facts",
    "to_frame",
    "valid_mrr",
    "write_ranks",
]

"""Filtered ranks with stated tie rules, measures, intervals, paired tests, and a check for leaks."""

from cear.evaluation.evaluation import Evaluation, Intervals, Summary, evaluate, sample_facts
from cear.evaluation.frames import about, from_frame, read_ranks, to_frame, write_ranks
from cear.evaluation.leaks import LeakReport, find_equal_score_leak, refuse_leaks
from cear.evaluation.measures import MRR, STANDARD, Hits, Measure, measure
from cear.evaluation.ranking import rank, rank_all, rank_under_filters
from cear.evaluation.reranked import confusion, rank_in_lists, reranked
from cear.evaluation.scores import ScoresEntities
from cear.evaluation.significance import Difference, compare

__all__ = [
    "MRR",
    "STANDARD",
    "Difference",
    "Evaluation",
    "Hits",
    "Intervals",
    "LeakReport",
    "Measure",
    "ScoresEntities",
    "Summary",
    "about",
    "compare",
    "confusion",
    "evaluate",
    "find_equal_score_leak",
    "from_frame",
    "measure",
    "rank",
    "rank_all",
    "rank_in_lists",
    "rank_under_filters",
    "read_ranks",
    "refuse_leaks",
    "reranked",
    "sample_facts",
    "to_frame",
    "write_ranks",
]

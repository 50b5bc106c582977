"""Filtered ranks with stated tie rules, measures, intervals, paired tests, a check for leaks; completions."""

from cear.evaluation.asking import Asked, evaluate, sample_facts, valid_mrr
from cear.evaluation.by_relation import by_relation
from cear.evaluation.calibration import Calibration, ReliabilityBin, calibration_by_relation, wilson_interval
from cear.evaluation.clusters import ByCluster, EntityClusters, Filter, ranked_clusters
from cear.evaluation.completion import PRECISIONS, TOPS, CompletionSummary, Proposed, Top
from cear.evaluation.evaluation import INVERSE, REST, Evaluation, Intervals, Summary
from cear.evaluation.frames import about, from_frame, read_ranks, to_frame, write_ranks
from cear.evaluation.judged import Judgement, average_precision, best_threshold, roc_auc
from cear.evaluation.leaks import LeakReport, find_equal_score_leak, refuse_leaks
from cear.evaluation.measures import MRR, STANDARD, Hits, Measure, measure
from cear.evaluation.ranking import Golds, as_mentions, rank, rank_all, rank_block, rank_rows, rank_under_filters
from cear.evaluation.scores import ScoresEntities, checked_scores
from cear.evaluation.significance import Difference, compare, compare_seeds

__all__ = [
    "INVERSE",
    "MRR",
    "PRECISIONS",
    "REST",
    "STANDARD",
    "TOPS",
    "Asked",
    "ByCluster",
    "Calibration",
    "CompletionSummary",
    "Difference",
    "EntityClusters",
    "Evaluation",
    "Filter",
    "Golds",
    "Hits",
    "Intervals",
    "Judgement",
    "LeakReport",
    "Measure",
    "Proposed",
    "ReliabilityBin",
    "ScoresEntities",
    "Summary",
    "Top",
    "about",
    "as_mentions",
    "average_precision",
    "best_threshold",
    "by_relation",
    "calibration_by_relation",
    "checked_scores",
    "compare",
    "compare_seeds",
    "evaluate",
    "find_equal_score_leak",
    "from_frame",
    "measure",
    "rank",
    "rank_all",
    "rank_block",
    "rank_rows",
    "rank_under_filters",
    "ranked_clusters",
    "read_ranks",
    "refuse_leaks",
    "roc_auc",
    "sample_facts",
    "to_frame",
    "valid_mrr",
    "wilson_interval",
    "write_ranks",
]

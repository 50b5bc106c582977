"""Result records with provenance, the tables and cards drawn from them, and rankings in the files of TREC."""

from cear.reports.cards import reranker_card, run_card
from cear.reports.checking import Check, Loaded, check_records, checks_table
from cear.reports.comparing import Comparison, Group, compare_groups, comparison_table, open_ranks
from cear.reports.completions import calibration_line, completion_table
from cear.reports.provenance import Provenance
from cear.reports.records import Record, read_record, read_records, write_record
from cear.reports.seeds import Spread, seeds_table, spread
from cear.reports.tables import evaluation_table, reranking_table, results_table
from cear.reports.trec import write_trec_lists, write_trec_run

__all__ = [
    "Check",
    "Comparison",
    "Group",
    "Loaded",
    "Provenance",
    "Record",
    "Spread",
    "calibration_line",
    "check_records",
    "checks_table",
    "compare_groups",
    "comparison_table",
    "completion_table",
    "evaluation_table",
    "open_ranks",
    "read_record",
    "read_records",
    "reranker_card",
    "reranking_table",
    "results_table",
    "run_card",
    "seeds_table",
    "spread",
    "write_record",
    "write_trec_lists",
    "write_trec_run",
]

"""Result records with provenance, and the tables drawn from them."""

from cear.reports.checking import Check, Loaded, check_records, checks_table
from cear.reports.comparing import Comparison, Group, compare_groups, comparison_table, open_ranks
from cear.reports.provenance import Provenance
from cear.reports.records import Record, read_record, read_records, write_record
from cear.reports.seeds import Spread, seeds_table, spread
from cear.reports.tables import evaluation_table, reranking_table, results_table

__all__ = [
    "Check",
    "Comparison",
    "Group",
    "Loaded",
    "Provenance",
    "Record",
    "Spread",
    "check_records",
    "checks_table",
    "compare_groups",
    "comparison_table",
    "evaluation_table",
    "open_ranks",
    "read_record",
    "read_records",
    "reranking_table",
    "results_table",
    "seeds_table",
    "spread",
    "write_record",
]

"""Result records with provenance, the tables, cards and pages drawn from them, and rankings in the files of TREC."""

from cear.reports.cards import reranker_card, run_card
from cear.reports.checking import (
    Check,
    Loaded,
    check_records,
    checks_table,
    configuration_of,
    has_settings,
    option_of,
    set_aside,
)
from cear.reports.comparing import Comparison, Group, compare_groups, comparison_table, open_ranks
from cear.reports.completions import calibration_line, completion_table
from cear.reports.pages import (
    Bars,
    Chart,
    Column,
    Curve,
    Entry,
    Heat,
    Page,
    Part,
    Reading,
    Row,
    Table,
    reading,
    to_html,
    to_latex,
    to_markdown,
    to_svg,
    write_page,
)
from cear.reports.provenance import Provenance
from cear.reports.records import Record, read_record, read_records, write_record
from cear.reports.seeds import Spread, seeds_table, spread
from cear.reports.tables import evaluation_table, reranking_table, results_table
from cear.reports.trec import write_trec_lists, write_trec_run

__all__ = [
    "Bars",
    "Chart",
    "Check",
    "Column",
    "Comparison",
    "Curve",
    "Entry",
    "Group",
    "Heat",
    "Loaded",
    "Page",
    "Part",
    "Provenance",
    "Reading",
    "Record",
    "Row",
    "Spread",
    "Table",
    "calibration_line",
    "check_records",
    "checks_table",
    "compare_groups",
    "comparison_table",
    "completion_table",
    "configuration_of",
    "evaluation_table",
    "has_settings",
    "open_ranks",
    "option_of",
    "read_record",
    "read_records",
    "reading",
    "reranker_card",
    "reranking_table",
    "results_table",
    "run_card",
    "seeds_table",
    "set_aside",
    "spread",
    "to_html",
    "to_latex",
    "to_markdown",
    "to_svg",
    "write_page",
    "write_record",
    "write_trec_lists",
    "write_trec_run",
]

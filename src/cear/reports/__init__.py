"""Result records with provenance, and the tables drawn from them."""

from cear.reports.provenance import Provenance
from cear.reports.records import Record, read_records, write_record
from cear.reports.tables import evaluation_table, reranking_table, results_table

__all__ = [
    "Provenance",
    "Record",
    "evaluation_table",
    "read_records",
    "reranking_table",
    "results_table",
    "write_record",
]

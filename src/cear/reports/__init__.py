"""Result records with provenance, and the tables drawn from them."""

from cear.reports.provenance import Provenance, peak_bytes
from cear.reports.records import Record, read_records, write_record
from cear.reports.tables import evaluation_table, reranking_table, results_table

__all__ = [
    "Provenance",
    "Record",
    "evaluation_table",
    "peak_bytes",
    "read_records",
    "reranking_table",
    "results_table",
    "write_record",
]

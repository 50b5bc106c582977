"""Proposals for people and programs: tables, JSON lines, Parquet, and RDF that says where each of them comes from."""

from cear.completion.export.about import About
from cear.completion.export.writing import FORMATS, refuse_format, write_accepted, write_table

__all__ = ["FORMATS", "About", "refuse_format", "write_accepted", "write_table"]

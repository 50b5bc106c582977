"""The service: questions, reviews and the reconciliation protocol over HTTP, and a page."""

from cear.serving.batching import Batcher, Busy
from cear.serving.decisions import AlreadyDecided, Decision, Decisions, Verdict, as_line, read_log, write_log

__all__ = [
    "AlreadyDecided",
    "Batcher",
    "Busy",
    "Decision",
    "Decisions",
    "Verdict",
    "as_line",
    "read_log",
    "write_log",
]

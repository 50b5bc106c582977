"""Completes knowledge bases in two stages: retrieve every entity fast, re-rank the best ones together.

>>> import cear
>>> config = cear.RunConfig(data="demo")                  # or "fb15k-237", or a path to your own facts
>>> run = cear.run(config, out="runs/demo")               # doctest: +SKIP
>>> run.evaluate("test").summary()["both"]["mrr"]         # doctest: +SKIP
>>> run.ask("capital of", object="France", k=3)           # doctest: +SKIP
"""

__version__ = "0.1.0"

from cear.config import RunConfig, load_config
from cear.data import KnowledgeBase, load
from cear.pipeline import Answer, Run, open_run, run
from cear.retrieval import Stage1Config

__all__ = ["Answer", "KnowledgeBase", "Run", "RunConfig", "Stage1Config", "load", "load_config", "open_run", "run"]

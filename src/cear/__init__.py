"""Completes knowledge bases in two stages: retrieve every entity fast, re-rank the best ones together.

>>> import cear
>>> config = cear.RunConfig(data="demo")                  # or "fb15k-237", or a path to your own facts
>>> run = cear.run(config, out="runs/demo")               # doctest: +SKIP
>>> run.evaluate("test").summary()["both"]["mrr"]         # doctest: +SKIP
>>> run.ask("capital of", object="France", k=3)           # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "CearError",
    "ComplExConfig",
    "KnowledgeBase",
    "Run",
    "RunConfig",
    "SequenceConfig",
    "WideConfig",
    "load",
    "load_config",
    "open_run",
    "run",
]

# Each public name and the module that has it. Modules are imported when a name is first used, so that
# `cear --help` and `cear data check` do not wait for PyTorch.
_HOMES = {
    "Answer": "cear.pipeline",
    "CearError": "cear.core.errors",
    "ComplExConfig": "cear.retrieval",
    "KnowledgeBase": "cear.data",
    "Run": "cear.pipeline",
    "RunConfig": "cear.config",
    "SequenceConfig": "cear.reranking",
    "WideConfig": "cear.reranking",
    "load": "cear.data",
    "load_config": "cear.config",
    "open_run": "cear.pipeline",
    "run": "cear.pipeline",
}
_ROOMS = (
    "candidates",
    "cluster",
    "completion",
    "core",
    "data",
    "evaluation",
    "explaining",
    "pipeline",
    "ranking",
    "reports",
    "reranking",
    "retrieval",
    "steps",
    "texts",
    "training",
    "tuning",
)  # `cear.data` works after `import cear` alone

if TYPE_CHECKING:
    from cear import candidates as candidates
    from cear import cluster as cluster
    from cear import data as data
    from cear import evaluation as evaluation
    from cear import explaining as explaining
    from cear import ranking as ranking
    from cear import reports as reports
    from cear import reranking as reranking
    from cear import retrieval as retrieval
    from cear import steps as steps
    from cear.config import RunConfig, load_config
    from cear.core.errors import CearError
    from cear.data import KnowledgeBase, load
    from cear.pipeline import Answer, Run, open_run, run
    from cear.reranking import SequenceConfig, WideConfig
    from cear.retrieval import ComplExConfig


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"cear.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'cear' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})

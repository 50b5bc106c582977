"""The re-rankers by name: a dictionary to read, and one type for the settings of any of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from cear.core.context import HERE, Context
from cear.core.files import read_json
from cear.core.registry import union_of, with_installed
from cear.reranking.cross_encoder import CrossEncoderConfig
from cear.reranking.kg_bert import KgBertRerankerConfig
from cear.reranking.reranker import CONFIG, Reranker, RerankerConfig, Upstream
from cear.reranking.sequence import SequenceConfig
from cear.reranking.wide import WideConfig

RERANKERS: dict[str, type[RerankerConfig]] = with_installed(
    {
        "sequence": SequenceConfig,
        "wide": WideConfig,
        "kg_bert": KgBertRerankerConfig,
        "cross_encoder": CrossEncoderConfig,
    },
    "cear.rerankers",
)

if TYPE_CHECKING:
    AnyReranker = RerankerConfig
else:
    AnyReranker = union_of(RERANKERS, "kind", default="sequence")


def load_reranker(folder: Path, upstream: Upstream, context: Context = HERE) -> Reranker:
    """The re-ranker that was saved in a folder, of whatever kind it is."""
    saved = read_json(folder / CONFIG)
    config: RerankerConfig = TypeAdapter(AnyReranker).validate_python(saved["config"])
    return config.load(upstream, folder, config.context(context).with_seed(saved["seed"]))

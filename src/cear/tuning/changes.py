"""What may be better than the default, one change at a time, in the order in which it is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cear.tuning.profile import Profile

BASE = "own"  # the configuration that is changed
TEXTS = 0.5  # from this share of entities with a text on, texts are read
LINKED = 0.01  # below it, a split took linked pairs out
SMALL = 30_000  # facts: so few that messages can pass along all of them


@dataclass(frozen=True)
class Change:
    """One change of the configuration."""

    name: str
    """For people: what is other than before."""
    overrides: tuple[str, ...]
    """As on the command line of `cear run`."""
    times: float = 1.0
    """About how many times as long the steps that it makes anew take."""
    suits: Callable[[Profile], bool] = lambda _: True
    """Whether it is worth a try on such a knowledge base."""


EXTRA = "candidates.extra_retrievers"
CHANGES = (
    Change("folds by pair", ("candidates.crossfit.by=pair",), suits=lambda kb: kb.linked < LINKED),
    Change(
        "texts",
        (f"{EXTRA}.text={{model: text, tokens: 16, negatives: 500, batch: 500, epochs: 5, validate_every: 5}}",),
        suits=lambda kb: kb.texts >= TEXTS,
    ),
    Change("64 candidates", ("candidates.k=64",), times=2),
    Change("raw scores alone", ("reranker.list_inputs=false",)),
    Change("aligned inputs", ("reranker.align_inputs=true",)),
    Change("few large steps", ("stage1.optimizer={kind: adagrad, learning_rate: 0.3, decay: linear}",)),
    Change("a weaker regulariser", ("stage1.regularizer.weight=0.005",)),
    Change("a stronger regulariser", ("stage1.regularizer.weight=0.2",)),
    Change("paths", (f"{EXTRA}.paths={{model: paths}}",), times=4, suits=lambda kb: kb.facts <= SMALL),
    Change("rank 128", ("stage1.rank=128",), times=1.8),
    Change("twice as many lists", ("candidates.crossfit.held_out_folds=4",), times=1.5),
    Change("a longer Stage 2", ("reranker.epochs=12",), times=2),
    Change("a wider Stage 2", ("reranker.width=128",), times=2),
)
"""Settings of a retriever are chosen by what the whole system gains, for rules and texts may know the same already."""


def changes_for(profile: Profile) -> list[Change]:
    """Those that suit a knowledge base."""
    return [change for change in CHANGES if change.suits(profile)]

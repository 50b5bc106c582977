"""Our side of the race."""

from __future__ import annotations

import itertools

from cear.core.context import HERE
from cear.data import KnowledgeBase
from cear.retrieval import ComplExConfig
from cear.retrieval.training import Stage1Task
from racing.curves import Follower, first_facts
from racing.trials import Choice


def train_ours(kb: KnowledgeBase, config: ComplExConfig, choice: Choice, follower: Follower) -> None:
    """Epochs of our ComplEx until the follower has seen enough."""
    regularizer = config.regularizer.model_copy(update={"weight": choice.n3})
    chosen = config.model_copy(update={"batch": choice.batch, "regularizer": regularizer})
    scorer = chosen.build(kb, HERE)
    # A knowledge base indexes its known answers once. Made anew, it does so in our time, as PyKEEN does in its own.
    task = Stage1Task(scorer, first_facts(kb), chosen, lambda _: 0.0, HERE)
    for epoch in itertools.count():
        for (loss,) in task.steps(epoch, first=0, parts=1):
            task.optimizer.zero_grad()
            loss().backward()  # type: ignore[no-untyped-call]
            task.optimizer.step()
        if not follower.goes_on(scorer):
            return

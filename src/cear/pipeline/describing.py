"""What a table says about the stages of a run."""

from __future__ import annotations

from typing import Any

from torch import nn

from cear.pipeline.plan import Plan
from cear.pipeline.stage1 import STAGE1


def details(plan: Plan) -> dict[str, Any]:
    """How the stages were trained."""
    step, settings = plan.stage1[STAGE1], plan.config.stage1
    training, spent = plan.training(step), plan.store.report(step).spent
    said = {"training_seconds": spent.seconds, "valid_mrr": training.best, **settings.details(training)}
    said |= _parameters(plan.retrievers.first)
    return said if plan.config.reranker is None else said | {"reranker": _reranker_details(plan)}


def _reranker_details(plan: Plan) -> dict[str, Any]:
    settings, training = plan.settings2, plan.reranker_training()
    best = training["phases"][training["best"]]
    return {
        "kind": settings.kind,
        "k": plan.config.candidates.k,
        "epochs": best["epoch"],
        "best_epoch": best["best_epoch"],
        "valid_mrr": best["best"],
        "phases": {name: phase["best"] for name, phase in training["phases"].items()},
        "lists": min(settings.lists_per_epoch or training["lists"], training["lists"]),
        "lists_with_answers": training["lists"],
        "training_seconds": plan.store.report(plan.reranker).spent.seconds,
        "shortened": training["shortened"],
        "fusion": list(plan.ranker.fusion.weights),
        "int8": plan.int8,
        **_parameters(plan.ranker.reranker),
    }


def _parameters(stage: object) -> dict[str, int]:
    """How many numbers a stage has learned, where it is, or has, a network."""
    network = stage if isinstance(stage, nn.Module) else getattr(stage, "model", None)
    if not isinstance(network, nn.Module):
        return {}
    return {"parameters": sum(weight.numel() for weight in network.parameters())}

"""Outside truth: on the same scores, our filtered ranks and measures are those of PyKEEN's evaluator."""

import numpy as np
import pytest
import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.models.mocks import FixedModel
from pykeen.triples import CoreTriplesFactory

from cear.core.types import SPLITS
from cear.data import KnowledgeBase, Vocabulary
from cear.evaluation import STANDARD, evaluate

ENTITIES, RELATIONS, FACTS = 30, 4, 500
RULES = {"optimistic": "optimistic", "expected": "realistic", "pessimistic": "pessimistic"}
NAMES = {"mrr": "inverse_harmonic_mean_rank"} | {f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 10, 50)}


class OurScorer:
    def __init__(self, table):
        self.table = table  # (relation, subject, object)

    def score_all(self, queries):
        relation, entity = torch.as_tensor(queries.relation), torch.as_tensor(queries.entity)
        objects = self.table[relation % RELATIONS, entity]
        subjects = self.table.transpose(1, 2)[relation % RELATIONS, entity]
        return torch.where((relation < RELATIONS)[:, None], objects, subjects)


class TheirModel(FixedModel):
    def __init__(self, table, triples_factory):
        super().__init__(triples_factory=triples_factory)
        self.table = table

    def _generate_fake_scores(self, h, r, t):
        return self.table[torch.broadcast_tensors(r, h, t)]


@pytest.fixture(scope="module", params=["ties", "real"])
def table(request):
    generator = torch.Generator().manual_seed(0)
    shape = (RELATIONS, ENTITIES, ENTITIES)
    if request.param == "real":
        return torch.randn(shape, generator=generator)
    return torch.randint(6, shape, generator=generator).float()


@pytest.fixture(scope="module")
def kb():
    shape = (ENTITIES, RELATIONS, ENTITIES)
    cells = np.random.default_rng(0).choice(np.prod(shape), FACTS, replace=False)
    facts = np.split(np.stack(np.unravel_index(cells, shape), axis=1), [350, 420])
    names = Vocabulary.from_ids("entity", [str(i) for i in range(ENTITIES)])
    relations = Vocabulary.from_ids("relation", [str(i) for i in range(RELATIONS)])
    return KnowledgeBase("random", names, relations, dict(zip(SPLITS, facts, strict=True)))


@pytest.fixture(scope="module")
def theirs(kb, table):
    """PyKEEN's evaluator after its filtered evaluation of the test facts, ranks kept, and its results."""
    train, valid, test = (torch.from_numpy(kb.facts(split).copy()) for split in SPLITS)
    factory = CoreTriplesFactory(train, num_entities=ENTITIES, num_relations=RELATIONS)
    evaluator = RankBasedEvaluator(
        filtered=True,
        clear_on_finalize=False,
        metrics=["mrr", *["hits@k"] * 4],
        metrics_kwargs=[None, *({"k": k} for k in (1, 3, 10, 50))],
        add_defaults=False,
    )
    results = evaluator.evaluate(
        TheirModel(table, factory),
        test,
        batch_size=16,
        additional_filter_triples=[train, valid],
        use_tqdm=False,
    )
    return evaluator, results


def their_ranks(evaluator, rule):
    return np.concatenate([np.concatenate(evaluator.ranks[side, RULES[rule]]) for side in ("tail", "head")])


@pytest.mark.parametrize("rule", RULES)
def test_every_rank_is_theirs(kb, table, theirs, rule):
    evaluator, _ = theirs
    ours = evaluate(OurScorer(table), kb, "test").ranks.under(rule)
    assert np.array_equal(ours, their_ranks(evaluator, rule))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("side", ["both", "head", "tail"])
def test_every_measure_is_theirs(kb, table, theirs, rule, side):
    _, results = theirs
    ours = evaluate(OurScorer(table), kb, "test", ties=rule).summary()[side]
    expected = {each.name: results.get_metric(f"{side}.{RULES[rule]}.{NAMES[each.name]}") for each in STANDARD}
    assert ours == pytest.approx(expected, abs=1e-6)  # their realistic ranks are float32


def test_the_comparison_would_notice(theirs, table):
    """Under ties the three rules differ, so that agreement on all of them says something."""
    evaluator, _ = theirs
    optimistic, pessimistic = (their_ranks(evaluator, rule) for rule in ("optimistic", "pessimistic"))
    has_ties = len(table.unique()) < 10
    assert (optimistic < pessimistic).any() == has_ties

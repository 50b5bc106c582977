"""Rules in the manner of AnyBURL, learned by counting: a Stage 1 without training whose reasons can be read."""

from cear.retrieval.rules.config import RuleSettings
from cear.retrieval.rules.plugin import RulesConfig
from cear.retrieval.rules.reasons import Atom, FiredRule
from cear.retrieval.rules.retriever import RuleRetriever
from cear.retrieval.rules.rulebook import RuleBook, learn_rules, load_rules, save_rules

__all__ = [
    "Atom",
    "FiredRule",
    "RuleBook",
    "RuleRetriever",
    "RuleSettings",
    "RulesConfig",
    "learn_rules",
    "load_rules",
    "save_rules",
]

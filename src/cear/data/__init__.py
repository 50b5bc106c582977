"""Facts on disk and in memory: the knowledge base and everything that reads one."""

from cear.data.cache import read_kept, write_kept
from cear.data.check import check, check_source
from cear.data.columns import Columns, columns_override, parse_columns
from cear.data.draft import TextRule, Variant
from cear.data.entity_types import TypeFacts, Types
from cear.data.findings import Finding, Findings, Severity
from cear.data.growing import with_entities
from cear.data.judged import Judged, judged_of, read_facts, read_judged
from cear.data.knowledge_base import KnowledgeBase, KnownAnswers
from cear.data.lines import not_utf8, numbered_lines
from cear.data.mentions import Mentions
from cear.data.namesakes import find_entity, told_apart
from cear.data.rdf_rules import RdfRules
from cear.data.reading import load, read
from cear.data.relation_shapes import CARDINALITIES, Cardinality, cardinalities, stands_turned
from cear.data.report import Reading, ReadReport
from cear.data.sources import cache_root, is_here, is_named
from cear.data.splitting import SplitConfig
from cear.data.vocabulary import Vocabulary

__all__ = [
    "CARDINALITIES",
    "Cardinality",
    "Columns",
    "Finding",
    "Findings",
    "Judged",
    "KnowledgeBase",
    "KnownAnswers",
    "Mentions",
    "RdfRules",
    "ReadReport",
    "Reading",
    "Severity",
    "SplitConfig",
    "TextRule",
    "TypeFacts",
    "Types",
    "Variant",
    "Vocabulary",
    "cache_root",
    "cardinalities",
    "check",
    "check_source",
    "columns_override",
    "find_entity",
    "is_here",
    "is_named",
    "judged_of",
    "load",
    "not_utf8",
    "numbered_lines",
    "parse_columns",
    "read",
    "read_facts",
    "read_judged",
    "read_kept",
    "stands_turned",
    "told_apart",
    "with_entities",
    "write_kept",
]

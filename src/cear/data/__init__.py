"""Facts on disk and in memory: the knowledge base and everything that reads one."""

from cear.data.knowledge_base import KnowledgeBase, KnownAnswers
from cear.data.vocabulary import Vocabulary

__all__ = ["KnowledgeBase", "KnownAnswers", "Vocabulary"]

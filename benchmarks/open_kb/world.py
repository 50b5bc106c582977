"""A made-up world: things in communities in topics, each thing with mentions, and relations with paraphrases.

What can be learned in it, and what a system shows that learned it:
- a relation asks for objects of one topic, and its phrases share a verb;
- a thing is called by its community's word and a given word; the community's word alone may mean any of them;
- which object a relation holds for is mostly a matter of the subject's community, so it can be told from the
  words of a subject that was never seen with that relation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]

SYLLABLES = [consonant + vowel for consonant in "bdfghjklmnprstvwz" for vowel in "aeiou"]
AUXILIARIES = ["is", "was", "has been", "would be", "has:impl_poss-clause", "may", "will", "often"]
ADVERBS = ["", "now", "once", "also", "later", "first", "soon", "never"]
PREPOSITIONS = ["of", "in", "by", "with", "at"]

TOPICS = 32  # at most; a small world has fewer, so that a topic is never a handful of things
COMMUNITIES_PER_TOPIC = 64
THINGS_PER_COMMUNITY = 10
MENTIONS_PER_COMMUNITY = 21  # two for each thing on average, and the community's word alone
PHRASES_PER_VERB = 20
GIVEN_WORDS = 3989  # a prime: the given words of a community differ, whatever the step between them


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a knowledge base is; the defaults are OLPBENCH's."""

    mentions: int = 2_470_000
    relations: int = 961_000
    facts: int = 30_600_000
    held_out: int = 10_000

    def scaled(self, scale: float) -> Sizes:
        """All of it smaller or larger by a factor."""
        parts = (self.mentions, self.relations, self.facts, self.held_out)
        return Sizes(*(max(1, round(part * scale)) for part in parts))


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Who there is and what they are called. Things are numbered by community, communities by topic."""

    mentions: pl.Series
    """The surface forms: those of things by thing, then for each community its word alone."""
    phrases: pl.Series
    """The relation phrases; phrase p has verb p modulo the number of verbs."""
    first_mention: Ints  # (thing + 1,)
    first_thing: Ints  # (topic + 1,)
    subject_topic: Ints  # (verb,)
    object_topic: Ints  # (verb,)

    @property
    def things(self) -> int:
        """The number of things."""
        return len(self.first_mention) - 1

    @property
    def verbs(self) -> int:
        """The number of verbs."""
        return len(self.subject_topic)

    def word_of_community(self, things: Ints) -> Ints:
        """The mention that is the community's word alone, of each thing."""
        return self.first_mention[-1] + things // THINGS_PER_COMMUNITY

    def topic(self, things: Ints) -> Ints:
        """The topic of each thing."""
        return np.searchsorted(self.first_thing, things, side="right") - 1


def make_world(sizes: Sizes, random: np.random.Generator) -> World:
    """A world with so many mentions and relation phrases, exactly."""
    communities = max(1, sizes.mentions // MENTIONS_PER_COMMUNITY)
    verbs = max(1, sizes.relations // PHRASES_PER_VERB)
    topics = max(1, min(TOPICS, verbs, communities // COMMUNITIES_PER_TOPIC))
    vocabulary = _words(random.permutation(verbs + communities + GIVEN_WORDS + topics))
    verb_words, community_words, given_words, topic_words = (
        vocabulary[start : start + count]
        for start, count in zip(
            np.cumsum([0, verbs, communities, GIVEN_WORDS]), (verbs, communities, GIVEN_WORDS, topics), strict=True
        )
    )
    topic_of_community = np.arange(communities) * topics // communities
    owner, form = _forms(communities * THINGS_PER_COMMUNITY, sizes.mentions - communities, random)
    community = owner // THINGS_PER_COMMUNITY
    given = (community * 31 + owner % THINGS_PER_COMMUNITY * 7) % GIVEN_WORDS
    own = _mention_names(
        form,
        given_words.gather(given),
        community_words.gather(community),
        topic_words.gather(topic_of_community[community]),
    )
    return World(
        mentions=pl.concat([own, community_words]),
        phrases=_phrase_names(sizes.relations, verb_words),
        first_mention=np.searchsorted(owner, np.arange(communities * THINGS_PER_COMMUNITY + 1)),
        first_thing=np.searchsorted(topic_of_community, np.arange(topics + 1)) * THINGS_PER_COMMUNITY,
        subject_topic=random.permutation(np.arange(verbs) % topics),
        object_topic=random.integers(0, topics, verbs),
    )


def _forms(things: int, mentions: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """The thing of each mention, ascending, and its form: everything has form 0, and some of 1 to 3."""
    more = random.choice(3 * things, mentions - things, replace=False)
    owner = np.concatenate([np.arange(things), more // 3])
    form = np.concatenate([np.zeros(things, np.int64), more % 3 + 1])
    order = np.lexsort((form, owner))
    return owner[order], form[order]


def _mention_names(form: Ints, given: pl.Series, community: pl.Series, topic: pl.Series) -> pl.Series:
    name = pl.concat_str("given", "community", separator=" ")
    table = pl.DataFrame({"form": form, "given": given, "community": community, "topic": topic})
    forms = [name, pl.format("the {}", name), pl.format("{} of {}", name, "topic"), pl.format("{} {}", "topic", name)]
    chosen = pl.coalesce(pl.when(pl.col("form") == number).then(text) for number, text in enumerate(forms))
    return table.select(chosen).to_series()


def _phrase_names(count: int, verbs: pl.Series) -> pl.Series:
    """Phrases that differ, though they share their verb: "was once VERB by"."""
    verb, rest = np.arange(count) % len(verbs), np.arange(count) // len(verbs)
    rest, auxiliary = np.divmod(rest, len(AUXILIARIES))
    preposition, adverb = np.divmod(rest, len(ADVERBS))
    parts = {
        "auxiliary": pl.Series(AUXILIARIES).gather(auxiliary),
        "adverb": pl.Series(ADVERBS).gather(adverb),
        "verb": verbs.gather(verb),
        "preposition": pl.Series(PREPOSITIONS).gather(preposition),
    }
    return pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator=" ").str.replace("  ", " ")).to_series()


def _words(numbers: Ints) -> pl.Series:
    """A made-up word for each number, another for another."""
    syllables, base = pl.Series(SYLLABLES), len(SYLLABLES)
    fourth, rest = np.divmod(numbers, base**3)
    rest = rest * 277_777 % base**3  # neighbours shall not look alike
    parts = [syllables.gather(rest // base**place % base) for place in range(3)]
    return parts[0] + parts[1] + parts[2] + pl.Series(["", *SYLLABLES]).gather(fourth)

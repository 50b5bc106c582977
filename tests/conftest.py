"""A knowledge base small enough to train on in a blink, real enough to learn: towns, countries, roads."""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from cear.core.types import SPLITS, Ints, Split
from cear.data import KnowledgeBase, Vocabulary

os.environ.pop("COLUMNS", None)  # of the process that shares tests out: a console keeps it for good
settings.register_profile("cear", deadline=None)  # a busy machine is no failure
settings.load_profile("cear")

TOWNS, COUNTRIES = 25, 5
RELATIONS = ("lies_in", "twinned_with", "road_to")

FolderMaker = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def _leave_the_users_cache_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever tests keep is kept in a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CEAR_CACHE", str(tmp_path_factory.mktemp("cache of the session")))
        yield


def town_facts() -> dict[Split, list[tuple[int, int, int]]]:
    """Town i lies in country i mod 5, is twinned with i + 5, has a road to i + 1; every sixth fact is held out."""
    triples = [(i, 0, TOWNS + i % COUNTRIES) for i in range(TOWNS)]
    triples += [(i, 1, (i + 5) % TOWNS) for i in range(TOWNS)]
    triples += [(i, 2, (i + 1) % TOWNS) for i in range(TOWNS)]
    place = {0: "valid", 3: "test"}
    return {split: [f for i, f in enumerate(triples) if place.get(i % 6, "train") == split] for split in SPLITS}


def entity_id(index: int) -> str:
    return f"t{index}" if index < TOWNS else f"c{index - TOWNS}"


def entity_name(index: int) -> str:
    return f"Town {index}" if index < TOWNS else f"Country {'ABCDE'[index - TOWNS]}"


@pytest.fixture(scope="session")
def towns() -> KnowledgeBase:
    """30 entities, 3 relations, 75 facts, in memory."""
    n_entities = TOWNS + COUNTRIES
    ids, names = [entity_id(i) for i in range(n_entities)], [entity_name(i) for i in range(n_entities)]
    relations = Vocabulary.from_ids("relation", list(RELATIONS), names=[r.replace("_", " ") for r in RELATIONS])
    splits: Mapping[Split, Ints] = {split: np.array(facts) for split, facts in town_facts().items()}
    return KnowledgeBase("towns", Vocabulary.from_ids("entity", ids, names=names), relations, splits)


@pytest.fixture(scope="session")
def write_towns() -> FolderMaker:
    """Writes the same facts, or others in their place, as a folder of text files."""

    def write(folder: Path, **other: list[tuple[int, int, int]]) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for split, facts in {**town_facts(), **other}.items():
            lines = [f"{entity_id(s)}\t{RELATIONS[r]}\t{entity_id(o)}\n" for s, r, o in facts]
            (folder / f"{split}.txt").write_text("".join(lines))
        texts = [f"{entity_id(i)}\t{entity_name(i)}\n" for i in range(TOWNS + COUNTRIES)]
        (folder / "entity2text.txt").write_text("".join(texts))
        (folder / "relation2text.txt").write_text("".join(f"{r}\t{r.replace('_', ' ')}\n" for r in RELATIONS))
        return folder

    return write


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Text vectors go to a cache of one module of tests alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CEAR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def stopping() -> Callable[[int], Any]:
    """Makes a progress bar that ends everything, as Ctrl-C would, when so many steps are done."""

    class Bar:
        def __init__(self, at: int) -> None:
            self.left = at

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def advance(self, steps: int = 1) -> None:
            self.left -= steps
            if self.left <= 0:
                raise KeyboardInterrupt

        def describe(self, text: str) -> None:
            pass

    return lambda at: lambda *_: Bar(at)


@pytest.fixture(scope="session")
def one_device() -> Callable[[], AbstractContextManager[Any]]:
    """Makes a context in which an operation on tensors of two devices is an error, as on an accelerator."""
    mode: Callable[[], AbstractContextManager[Any]]
    mode = runpy.run_path(str(Path(__file__).parent / "contracts" / "device_mode.py"))["OneDevice"]
    return mode


@pytest.fixture(scope="session")
def people() -> SimpleNamespace:
    """Knowledge bases of people to complete: see pipeline/people.py."""
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).parent / "pipeline" / "people.py")))


@pytest.fixture(scope="session")
def people_facts(people: SimpleNamespace) -> dict[str, list[tuple[str, str, str]]]:
    """Facts of people by split, twelve wrong ones among those of train; others are true and missing."""
    kept, _ = people.without_some(people.facts_of_people())
    facts = people.split(kept)
    return {**facts, "train": [*facts["train"], *people.wrong_facts(facts["train"])]}


@pytest.fixture(scope="session")
def people_run(people: SimpleNamespace, people_facts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A calibrated run of two stages on these facts, which completes with retrievers of all splits."""
    from cear.config import RunConfig
    from cear.pipeline import run

    folder = tmp_path_factory.mktemp("people")
    config = people.config_of(people.write_facts(folder / "people", people_facts), reranker=True, refit=True)
    return run(RunConfig.model_validate(config), folder / "run")


# Their families differ in special tokens, in where positions start, and in the names of their settings.
BERT_TOKENS = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
ROBERTA_TOKENS = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>"}
FAMILIES = {"bert": BERT_TOKENS, "roberta": ROBERTA_TOKENS, "mpnet": ROBERTA_TOKENS, "modernbert": BERT_TOKENS}
WORDS = ["town", "country", "lies", "in", "twinned", "with", "road", "to", *"abcde", *map(str, range(TOWNS))]


def write_tokenizer(folder: Path, family: str, *, pairs: bool) -> dict[str, int]:
    """A tokenizer of the towns' words, which may write pairs of texts as its family does; its vocabulary."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    special = FAMILIES[family]
    vocabulary = {word: i for i, word in enumerate([*special.values(), *WORDS])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=special["unk_token"]))
    tokenizer.normalizer, tokenizer.pre_tokenizer = BertNormalizer(), BertPreTokenizer()
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if family == "bert" else [])]
    if pairs:
        start, end = special["cls_token"], special["sep_token"]
        pair = f"{start} $A {end} {end} $B {end}" if special is ROBERTA_TOKENS else f"{start} $A {end} $B:1 {end}:1"
        ids = [(token, vocabulary[token]) for token in (start, end)]
        tokenizer.post_processor = TemplateProcessing(single=f"{start} $A {end}", pair=pair, special_tokens=ids)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=names, **special).save_pretrained(folder)
    return vocabulary


def write_encoder(folder: Path, family: str, positions: int, dtype: str, labels: int | None = None) -> None:
    """What `save_pretrained` leaves of an encoder of two random layers of 32, or of a classifier of so many labels."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification

    special, vocabulary = FAMILIES[family], write_tokenizer(folder, family, pairs=labels is not None)
    pad = vocabulary[special["pad_token"]]
    config = AutoConfig.for_model(
        family,
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=positions + (pad + 1 if special is ROBERTA_TOKENS else 0),
        pad_token_id=pad,
        initializer_range=0.3,  # so that an untrained encoder tells its tokens apart
        **({} if labels is None else {"num_labels": labels}),
    )
    kind = AutoModel if labels is None else AutoModelForSequenceClassification
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        kind.from_config(config).to(getattr(torch, dtype)).save_pretrained(folder)


@pytest.fixture(scope="session")
def encoder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """The folder of a tiny encoder of some family, made once for each set of arguments."""

    @cache
    def get(family: str = "bert", positions: int = 64, dtype: str = "float32") -> str:
        folder = tmp_path_factory.mktemp("encoder")
        write_encoder(folder, family, positions, dtype)
        return str(folder)

    return get


@pytest.fixture(scope="session")
def cross_encoder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """The folder of a tiny classifier of pairs of texts, made once for each set of arguments."""

    @cache
    def get(family: str = "bert", labels: int = 1, positions: int = 64) -> str:
        folder = tmp_path_factory.mktemp("cross-encoder")
        write_encoder(folder, family, positions, "float32", labels)
        return str(folder)

    return get

"""Configurations: what is wrong in one is said with its place, its value, and what was probably meant."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cear.config import RunConfig, dump_config, load_config
from cear.core.errors import ConfigError
from cear.core.settings import Settings, _settings_in
from cear.reranking import RERANKERS
from cear.retrieval import EMBEDDINGS, LOSSES, RETRIEVERS

ROOT = Path(__file__).parents[1]
PACKAGED = sorted((ROOT / "src/cear/configs").glob("*.yaml"))
PUBLISHED = [*sorted((ROOT / "configs").rglob("*.yaml")), *PACKAGED]


@pytest.fixture
def loaded(tmp_path: Path) -> Any:
    """Loads a configuration from its text."""

    def load(text: str, *overrides: str) -> RunConfig:
        path = tmp_path / "config.yaml"
        path.write_text(text)
        return load_config(path, overrides)

    return load


class TestPublished:
    @pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: f"{path.parent.name}/{path.name}")
    def test_it_loads_and_its_header_says_the_command(self, path: Path) -> None:
        load_config(path)
        lines = path.read_text(encoding="utf-8").splitlines()
        header = list(takewhile(lambda line: line.startswith("#"), lines))
        commands = [line.partition("Command:")[2].split() for line in header if "Command:" in line]
        assert len(commands) == 1, "one command in the comment on top"
        program, script, *_ = commands[0]
        assert self.own_name(path) in commands[0] or (program == "python" and (ROOT / script).exists())

    @staticmethod
    def own_name(path: Path) -> str:
        """What a command calls a configuration: its name in the package, or its path."""
        return path.stem if path in PACKAGED else str(path.relative_to(ROOT))


class TestNames:
    """A name without slash and suffix is that of a configuration that comes with the package."""

    @pytest.fixture(autouse=True)
    def _elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # no checkout is needed

    def test_it_is_found_from_anywhere_and_takes_overrides(self) -> None:
        config = load_config("own", ["data=my/facts.tsv"])
        assert (config.data, config.refit) == ("my/facts.tsv", True)
        assert config == load_config(Path("own"), ["data=my/facts.tsv"])

    @pytest.mark.parametrize("name", ["./own", "own.yaml", "sub/own"])
    def test_with_a_slash_or_a_suffix_it_is_a_file(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"There is no configuration .*own.*demo and own"):
            load_config(name)
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text("seed: 7\n")
        assert load_config(name).seed == 7

    def test_a_folder_of_that_name_is_not_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "demo").mkdir()
        assert load_config("demo").data == "demo"

    def test_a_file_without_a_suffix_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "mine").write_text("seed: 7\n")
        assert load_config("mine").seed == 7

    def test_a_typo_is_told_with_the_closest(self) -> None:
        with pytest.raises(ConfigError, match=r"called 'onw'\. Did you mean 'own'\?.*such as onw\.yaml"):
            load_config("onw")

    def test_a_base_may_be_one(self, tmp_path: Path) -> None:
        (tmp_path / "mine.yaml").write_text("base: own\ncandidates: {k: 7}\n")
        mine, own = load_config("mine.yaml"), load_config("own")
        assert mine.candidates.k == 7
        assert mine.stage1 == own.stage1


class TestOverrides:
    def test_they_go_on_top_of_the_file(self, loaded: Any) -> None:
        config = loaded("data: wn18rr\nstage1: {rank: 8, batch: 50}\n", "stage1.rank=64", "data=demo")
        assert (config.stage1.rank, config.stage1.batch, config.data) == (64, 50, "demo")

    def test_they_reach_inside_and_make_the_groups_on_the_way(self, loaded: Any) -> None:
        config = loaded("", "stage1.loss.negatives=20", "stage1.optimizer.learning_rate=5e-5")
        assert config.stage1.loss.negatives == 20
        assert config.stage1.optimizer.learning_rate == 5e-5

    def test_the_last_one_counts(self, loaded: Any) -> None:
        assert loaded("", "seed=1", "seed=2").seed == 2

    @pytest.mark.parametrize("text", ["null", "", "~"])
    def test_nothing_is_a_value(self, loaded: Any, text: str) -> None:
        assert loaded("threads: 2\n", f"threads={text}").threads is None

    def test_a_value_may_hold_equals_signs_and_spaces(self, loaded: Any) -> None:
        assert loaded("", "data=my folder/a=b.tsv").data == "my folder/a=b.tsv"

    def test_a_word_without_equals_is_refused_with_an_example(self, loaded: Any) -> None:
        with pytest.raises(ConfigError, match=r"'stage1\.rank' is not an override\. Write key=value"):
            loaded("", "stage1.rank")

    def test_a_value_has_no_settings_inside(self, loaded: Any) -> None:
        with pytest.raises(ConfigError, match="'data' is a single value"):
            loaded("data: demo\n", "data.path=x")

    def test_a_value_that_is_not_yaml_is_refused(self, loaded: Any) -> None:
        with pytest.raises(ConfigError, match=r"'data=\[a': '\[a' is not a YAML value"):
            loaded("", "data=[a")

    def test_an_unknown_key_gets_the_closest(self, loaded: Any) -> None:
        with pytest.raises(ConfigError, match=r"stage1\.rnak: no such setting\. Did you mean 'rank'\?"):
            loaded("", "stage1.rnak=3")


class TestUnknownKeys:
    @pytest.mark.parametrize(
        ("text", "where", "meant"),
        [
            ("dta: demo", "dta", "data"),
            ("stage1: {epoch: 3}", r"stage1\.epoch", "epochs"),
            ("stage1: {loss: {negative: 3}}", r"stage1\.loss\.negative", "negatives"),
            ("stage1: {optimizer: {learning-rate: 3}}", r"stage1\.optimizer\.learning-rate", "learning_rate"),
        ],
    )
    def test_the_closest_known_key_is_suggested_at_any_depth(
        self, loaded: Any, text: str, where: str, meant: str
    ) -> None:
        with pytest.raises(ConfigError, match=rf"{where}: no such setting\. Did you mean '{meant}'\?"):
            loaded(text)

    def test_without_a_close_one_the_known_ones_are_listed(self, loaded: Any) -> None:
        known = ", ".join(RunConfig.model_fields)
        with pytest.raises(ConfigError, match=rf"zzz: no such setting\. Known here: {known}\."):
            loaded("zzz: 1")

    def test_every_problem_is_named_at_once_with_the_file(self, loaded: Any) -> None:
        with pytest.raises(ConfigError) as caught:
            loaded("dta: demo\nstage1: {rank: -1}\n")
        message = str(caught.value)
        assert "config.yaml" in message
        assert "dta" in message
        assert "stage1.rank" in message


class TestBadValues:
    @pytest.mark.parametrize(
        ("text", "key", "found"),
        [
            ("stage1: {rank: many}", r"stage1\.rank", "'many'"),
            ("stage1: {rank: 0}", r"stage1\.rank", "0"),
            ("stage1: {rank: 2.5}", r"stage1\.rank", "2.5"),
            ("stage1: {loss: {kind: bce, label_smoothing: 1}}", r"stage1\.loss\.label_smoothing", "1"),
            ("stage1: {optimizer: {learning_rate: .inf}}", r"stage1\.optimizer\.learning_rate", "inf"),
            ("stage1: {regularizer: {weight: .nan}}", r"stage1\.regularizer\.weight", "nan"),
            ("stage1: complex", "stage1", "'complex'"),
            ("stage1: [1, 2]", "stage1", r"\[1, 2\]"),
            ("seed: -1", "seed", "-1"),
            ("threads: 0", "threads", "0"),
            ("data: 7", "data", "7"),
        ],
    )
    def test_the_key_and_the_value_are_named(self, loaded: Any, text: str, key: str, found: str) -> None:
        with pytest.raises(ConfigError, match=rf"{key}: .*but found {found}"):
            loaded(text)

    @pytest.mark.parametrize("text", ["data: [", "data: 'x", "a: b: c", "\tdata: demo"])
    def test_what_is_not_yaml_says_so_with_its_line(self, loaded: Any, text: str) -> None:
        with pytest.raises(ConfigError, match=r"config\.yaml is not YAML: (.|\n)*line 1"):
            loaded(text)

    @pytest.mark.parametrize(("text", "kind"), [("- 1\n- 2\n", "list"), ("just words", "str"), ("7", "int")])
    def test_what_is_not_settings_says_what_it_is(self, loaded: Any, text: str, kind: str) -> None:
        with pytest.raises(ConfigError, match=rf"holds {kind}; expected settings"):
            loaded(text)

    def test_broken_utf8_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "config.yaml").write_bytes(b"data: \xff\xfe")
        with pytest.raises(ConfigError, match="is not YAML"):
            load_config(tmp_path / "config.yaml")

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"There is no configuration .*none\.yaml\. .*demo and own"):
            load_config(tmp_path / "none.yaml")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read"):
            load_config(tmp_path)


def test_an_empty_file_is_all_defaults(loaded: Any) -> None:
    assert loaded("") == loaded("# only a comment\n") == RunConfig()


class TestPlugIns:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("stage1: {model: complx}", r"stage1: nothing is called 'complx'\. Did you mean 'complex'\?"),
            ("reranker: {kind: wild}", r"reranker: nothing is called 'wild'\. Did you mean 'wide'\?"),
            ("stage1: {loss: {kind: sofmax}}", r"stage1\.loss: nothing is called 'sofmax'\. Did you mean 'softmax'"),
            (
                "candidates: {extra_retrievers: {a: {model: txt}}}",
                r"candidates\.extra_retrievers\.a: nothing is called 'txt'\. Did you mean 'text'",
            ),
        ],
    )
    def test_a_name_that_there_is_not_gets_the_closest(self, loaded: Any, text: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            loaded(text)

    @pytest.mark.parametrize("model", RETRIEVERS)
    def test_a_key_of_another_model_is_refused(self, loaded: Any, model: str) -> None:
        mine = set(RETRIEVERS[model].model_fields)
        others = {key for settings in RETRIEVERS.values() for key in settings.model_fields} - mine
        assert others
        for key in sorted(others):
            with pytest.raises(ConfigError, match=rf"stage1\.{key}(: no such setting| is called otherwise now)"):
                loaded(f"stage1: {{model: {model}, {key}: 1}}")

    @pytest.mark.parametrize("kind", RERANKERS)
    def test_a_key_of_another_re_ranker_is_refused(self, loaded: Any, kind: str) -> None:
        others = {key for settings in RERANKERS.values() for key in settings.model_fields}
        for key in sorted(others - set(RERANKERS[kind].model_fields)):
            with pytest.raises(ConfigError, match=rf"reranker\.{key}: no such setting"):
                loaded(f"reranker: {{kind: {kind}, {key}: 1}}")

    @pytest.mark.parametrize(("group", "kinds"), [("loss", LOSSES), ("embedding", EMBEDDINGS)])
    def test_a_key_of_another_loss_or_embedding_is_refused(self, loaded: Any, group: str, kinds: Any) -> None:
        every = {key for settings in kinds.values() for key in settings.model_fields}
        for kind, own in kinds.items():
            for key in sorted(every - set(own.model_fields)):
                with pytest.raises(ConfigError, match=rf"stage1\.{group}\.{key}: no such setting"):
                    loaded(f"stage1: {{{group}: {{kind: {kind}, {key}: 1}}}}")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("candidates: {also: {}}", r"candidates\.also is called otherwise now: extra_retrievers"),
            ("candidates: {crossfit: {use: 1}}", r"candidates\.crossfit\.use .*: held_out_folds"),
            ("reranker: {lists: 5}", r"reranker\.lists .*: lists_per_epoch"),
            ("reranker: {kind: wide, others: true}", r"reranker\.others .*: extra_scores"),
            ("stage1: {model: text, layers: 1}", r"stage1\.layers .*: tune: \{layers: …\}"),
            ("stage1: {init_scale: 0.1}", r"stage1\.init_scale .*: embedding: \{scale: …\}"),
            ("stage1: {model: rules, rules: {best: 1}}", r"stage1\.rules .*beside `model`"),
            ("stage1: {model: complex_lstm}", r"stage1: complex_lstm .*model: complex with embedding: \{kind: lstm\}"),
        ],
    )
    def test_a_key_that_was_renamed_gets_its_new_name(self, loaded: Any, text: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            loaded(text)

    @pytest.mark.parametrize("name", ["../../x", "/abs", "..", "", "a b", "stage1", "x" * 65])
    def test_a_name_of_a_retriever_is_a_plain_word(self, loaded: Any, name: str) -> None:
        with pytest.raises(ConfigError, match=r"extra_retrievers"):
            loaded(yaml.safe_dump({"candidates": {"extra_retrievers": {name: {"model": "rules"}}}}))

    @pytest.mark.parametrize(
        "text",
        [
            "candidates: {crossfit: null, known: keep}\nreranker: {kind: wide}",
            "candidates: {lists: mine.parquet}\nreranker: {kind: wide}",
        ],
    )
    def test_wide_refuses_lists_of_facts_that_its_retrievers_have_seen(self, loaded: Any, text: str) -> None:
        with pytest.raises(ConfigError, match="give the answer away"):
            loaded(text)

    def test_what_is_wrong_between_settings_is_said_without_all_of_them(self, loaded: Any) -> None:
        with pytest.raises(ConfigError) as caught:
            loaded("seed: [3, 3]")
        assert str(caught.value).splitlines()[1:] == ["  seed: [3, 3] are not one or several different seeds."]

    def test_vectors_are_those_of_one_fold(self, loaded: Any) -> None:
        with pytest.raises(ConfigError, match=r"reranker\.vectors needs .*held_out_folds: 1"):
            loaded("candidates: {crossfit: {held_out_folds: 2}}\nreranker: {kind: wide, vectors: true}")


class TestSeeds:
    @pytest.mark.parametrize("key", ["seed", "reranker.seed"])
    def test_one_that_no_generator_takes_is_refused_with_what_it_takes(self, loaded: Any, key: str) -> None:
        largest = 2**63 - 1
        assert loaded("reranker: {kind: wide}\n", f"{key}={largest}")
        with pytest.raises(ConfigError, match=rf"{key}: Input should be less than {largest + 1}, but found {10**20}"):
            loaded("reranker: {kind: wide}\n", f"{key}={10**20}")

    def test_one_or_several(self, loaded: Any) -> None:
        assert loaded("seed: 3").seeds == [3]
        assert loaded("seed: [0, 1, 2]").seeds == [0, 1, 2]

    @pytest.mark.parametrize("text", ["seed: []", "seed: [1, 1]", "seed: [-1]"])
    def test_others_are_refused(self, loaded: Any, text: str) -> None:
        with pytest.raises(ConfigError, match="seed"):
            loaded(text)


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        RunConfig().seed = 3  # type: ignore[misc]


def groups_in(settings: type[Settings]) -> set[type[Settings]]:
    """A class of settings and all that its fields name."""
    found = {settings}
    for field in settings.model_fields.values():
        for each in _settings_in(field.annotation):
            found |= groups_in(each)  # type: ignore[arg-type]
    return found


class TestKeys:
    """The key of settings finds what was kept before a setting was added."""

    class Group(Settings):
        added_later = frozenset({"new"})
        old: int = 1
        new: int | None = None

    class Whole(Settings):
        group: TestKeys.Group

    def test_a_default_that_came_later_is_left_out_also_of_a_group_inside(self) -> None:
        assert self.Whole(group=self.Group()).settings_key() == {"group": {"old": 1}}

    def test_another_value_is_part_of_it(self) -> None:
        assert self.Whole(group=self.Group(new=2)).settings_key() == {"group": {"old": 1, "new": 2}}


def test_every_setting_says_what_it_is() -> None:
    plugged = (*RETRIEVERS.values(), *RERANKERS.values(), *LOSSES.values(), *EMBEDDINGS.values())
    groups = set().union(*(groups_in(each) for each in (RunConfig, *plugged)))
    assert len(groups) >= 20
    for group in groups:
        for name, field in group.model_fields.items():
            is_group = isinstance(field.default, Settings)
            assert is_group or field.description, f"{group.__name__}.{name} has no docstring"


@given(
    seed=st.integers(0, 2**40),
    rank=st.integers(1, 4000),
    rate=st.floats(1e-9, 1e3),
    weight=st.floats(0, 1e6),
    negatives=st.none() | st.integers(1, 10**6),
    data=st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1),
)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(
    tmp_path: Path, seed: int, rank: int, rate: float, weight: float, negatives: int | None, data: str
) -> None:
    stage1 = {
        "rank": rank,
        "optimizer": {"learning_rate": rate},
        "regularizer": {"weight": weight},
        "loss": {"negatives": negatives},
    }
    config = RunConfig.model_validate({"data": data, "seed": seed, "stage1": stage1})
    (tmp_path / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    assert load_config(tmp_path / "config.yaml") == config
    assert set(yaml.safe_load(dump_config(config))) == set(RunConfig.model_fields)


class TestBase:
    """A configuration may say only what differs from another."""

    @pytest.fixture
    def write(self, tmp_path: Path) -> Any:
        def write(name: str, text: str) -> Path:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return path

        return write

    def test_what_it_says_goes_on_top_group_by_group(self, write: Any) -> None:
        write("base.yaml", "data: wn18rr\nstage1: {model: complex, rank: 8, batch: 50}\n")
        config = load_config(write("folder/one.yaml", "base: ../base.yaml\nstage1: {rank: 64}\n"))
        assert (config.data, config.stage1.rank, config.stage1.batch) == ("wn18rr", 64, 50)

    def test_another_model_takes_nothing_over(self, write: Any) -> None:
        write("base.yaml", "stage1: {model: complex, relation_prediction: 1.0}\n")
        config = load_config(write("one.yaml", "base: base.yaml\nstage1: {model: rotate, rank: 8}\n"))
        assert (config.stage1.model, config.stage1.rank) == ("rotate", 8)

    def test_null_takes_a_group_away(self, write: Any) -> None:
        write("base.yaml", "reranker: {kind: wide}\n")
        assert load_config(write("one.yaml", "base: base.yaml\nreranker: null\n")).reranker is None

    def test_bases_may_have_bases(self, write: Any) -> None:
        write("a.yaml", "stage1: {rank: 8, batch: 50, epochs: 2}\n")
        write("b.yaml", "base: a.yaml\nstage1: {batch: 60, epochs: 3}\n")
        stage1 = load_config(write("c.yaml", "base: b.yaml\nstage1: {epochs: 4}\n")).stage1
        assert (stage1.rank, stage1.batch, stage1.epochs) == (8, 60, 4)

    def test_a_circle_is_refused(self, write: Any) -> None:
        write("a.yaml", "base: b.yaml\n")
        with pytest.raises(ConfigError, match=r"b\.yaml leads back to a configuration"):
            load_config(write("b.yaml", "base: a.yaml\n"))

    def test_a_base_that_is_not_there_is_named_with_who_names_it(self, write: Any) -> None:
        with pytest.raises(
            ConfigError, match=r"There is no configuration .*x\.yaml, which .*a\.yaml names as its base"
        ):
            load_config(write("a.yaml", "base: x.yaml\n"))

    def test_a_base_is_a_path(self, write: Any) -> None:
        with pytest.raises(ConfigError, match=r"base: expected the path of a configuration, but found \[1\]"):
            load_config(write("a.yaml", "base: [1]\n"))


class TestSizes:
    """A configuration may hold changes under a name, of which one may be taken."""

    TEXT = "stage1: {rank: 8}\nsizes: {paper: {stage1: {rank: 1000, batch: 100}}}\n"

    def test_without_a_word_it_is_as_written(self, loaded: Any) -> None:
        assert loaded(self.TEXT).stage1.rank == loaded(self.TEXT, "size=cpu").stage1.rank == 8

    def test_a_size_changes_what_it_says(self, loaded: Any) -> None:
        stage1 = loaded(self.TEXT, "size=paper").stage1
        assert (stage1.rank, stage1.batch) == (1000, 100)

    def test_overrides_go_on_top_of_a_size(self, loaded: Any) -> None:
        assert loaded(self.TEXT, "stage1.rank=5", "size=paper").stage1.rank == 5

    def test_a_size_that_is_not_there_is_refused_with_those_that_are(self, loaded: Any) -> None:
        with pytest.raises(ConfigError, match=r"there is no size 'gpu' of this configuration\. Known here: cpu, paper"):
            loaded(self.TEXT, "size=gpu")

    def test_sizes_of_a_base_are_inherited(self, tmp_path: Path) -> None:
        (tmp_path / "base.yaml").write_text(self.TEXT)
        (tmp_path / "one.yaml").write_text("base: base.yaml\nstage1: {epochs: 3}\n")
        stage1 = load_config(tmp_path / "one.yaml", ["size=paper"]).stage1
        assert (stage1.rank, stage1.epochs) == (1000, 3)


def _laughs(first: str, more: str) -> str:
    """Forty lines, each of which stands for the one above twice: 2^40 values."""
    lines = [f"a{i}: &a{i} {more.replace('*', f'*a{i - 1}')}" for i in range(1, 40)]
    return "\n".join([f"a0: &a0 {first}", *lines])


class TestHostileYaml:
    """What a stranger may write: each is told in a sentence, with its line, and costs next to nothing."""

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (_laughs("[x, x]", "[*, *]"), "line 11: there are more than 5,000 values; an alias counts"),
            (_laughs("{x: 1}", "{<<: [*, *]}"), r"line \d+: there are more than 5,000 values; an alias counts"),
            (_laughs("[[[x]]]", "[[[*]]]"), "line 17: values are nested more than 50 levels deep"),
            ("data: &a [*a]", r"line 1: \*a stands inside of what it stands for"),
            ("seed: [" + "1, " * 5_000 + "]", "line 1: there are more than 5,000 values"),
            ("data: " + "x" * 100_000, "there are more than 100,000 bytes"),
            ("data: " + "[" * 10_000, "line 1: values are nested more than 50 levels deep"),
            ("data:\n" + "- " * 10_000, "line 2: values are nested more than 50 levels deep"),
            ("data:\n" + "".join(f"{' ' * i}a:\n" for i in range(1, 400)), "line 50: values are nested"),
            ("seed: !!int x", "line 1: 'x' is not a proper int"),
            (r'seed: "\ud800"', "line 1: a text has half a character"),
            ("seed: !!int ''", "line 1: '' is not a proper int"),
            ("seed: !!int {=: x}", "line 1: this value is not a proper int"),
            ("seed: 0x_", "line 1: '0x_' is not a proper int"),
            ("refit: !!bool perhaps", "line 1: 'perhaps' is not a proper bool"),
            ("data: !!timestamp x", "line 1: 'x' is not a proper timestamp"),
            ("\nseed: " + "9" * 4_301, "line 2: a number has 4,301 characters, expected at most 100"),
            ("seed: 1" + ":1" * 40_000, "line 1: a number has 80,001 characters"),
            ("data: 2024-02-30", "line 1: '2024-02-30' is not a proper timestamp. Quote it if it is a text"),
            ("seed: 1\ndata: demo\nseed: 2", "line 3: the key 'seed' stands already on line 1"),
            ("stage1: {rank: 8, 'rank': 9}", "line 1: the key 'rank' stands already on line 1"),
        ],
        ids=lambda value: value[:24],
    )
    def test_it_is_told_with_its_line(self, loaded: Any, text: str, told: str) -> None:
        with pytest.raises(ConfigError, match=rf"config\.yaml: {told}"):
            loaded(text)

    @pytest.mark.parametrize(
        "text",
        ["stage1:\n\trank: 8", "data: \0", "data: \x1b[2J", "data: !!python/object/apply:os.getcwd []", "data: *none"],
    )
    def test_what_yaml_refuses_is_told_too(self, loaded: Any, text: str) -> None:
        with pytest.raises(ConfigError, match=r"config\.yaml is not YAML: "):
            loaded(text)

    @pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0", bytes(range(256)), "seed: 1".encode("utf-16")])
    def test_a_binary_file_is_told(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "config.yaml").write_bytes(content)
        with pytest.raises(ConfigError, match=r"config\.yaml is not YAML: "):
            load_config(tmp_path / "config.yaml")

    @pytest.mark.parametrize("text", ["!!int x", "2024-02-30", "[" * 10_000, "9" * 4_301])
    def test_an_override_is_read_within_the_same_bounds(self, loaded: Any, text: str) -> None:
        with pytest.raises(ConfigError, match=r"is not a YAML value\. Quote it") as raised:
            loaded("", f"seed={text}")
        assert len(str(raised.value)) < 400

    def test_aliases_and_merged_keys_still_work(self, loaded: Any) -> None:
        text = "stage1: {loss: &loss {kind: bce, label_smoothing: .1}}\nsizes:\n  a: {stage1: {loss: {<<: *loss, {}}}}"
        config = loaded(text.replace("{}", "label_smoothing: .2"), "size=a")
        assert config.stage1.loss.label_smoothing == 0.2

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
from cear.core.settings import Settings
from cear.retrieval import Stage1Config

ROOT = Path(__file__).parents[1]
PUBLISHED = [*sorted((ROOT / "configs").rglob("*.yaml")), ROOT / "src/cear/data/demo/config.yaml"]


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
        """What a command calls a configuration: its path, but the demo has its own command."""
        return "demo" if path.name == "config.yaml" else str(path.relative_to(ROOT))


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
            ("stage1: {model: complx}", r"stage1\.model", "'complx'"),
            ("stage1: {loss: {label_smoothing: 1}}", r"stage1\.loss\.label_smoothing", "1"),
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
        with pytest.raises(ConfigError, match=r"There is no configuration .*none\.yaml\. .*configs/"):
            load_config(tmp_path / "none.yaml")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read"):
            load_config(tmp_path)


def test_an_empty_file_is_all_defaults(loaded: Any) -> None:
    assert loaded("") == loaded("# only a comment\n") == RunConfig()


def test_settings_of_other_models_are_no_part_of_what_a_checkpoint_was_made_with() -> None:
    read, not_read = Stage1Config(model="complex_lstm"), Stage1Config()
    other = {"lstm": {"tokens": 3}, "rules": {"best": 1}, "extreme_text": {"dim": 2}}
    assert Stage1Config.model_validate(other).that_counts() == not_read.that_counts()
    changed = Stage1Config.model_validate({"model": "complex_lstm", **other})
    assert changed.that_counts() == '{"model":"complex_lstm","lstm":{"tokens":3}}' != read.that_counts()


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        RunConfig().seed = 3  # type: ignore[misc]


def test_every_setting_says_what_it_is() -> None:
    groups: list[type[Settings]] = [
        RunConfig,
        Stage1Config,
        *(type(v) for v in dict(Stage1Config()).values() if isinstance(v, Settings)),
    ]
    assert len(groups) == 9
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


def test_relation_prediction_is_refused_for_a_distance_before_anything_is_trained() -> None:
    with pytest.raises(ConfigError, match=r"relation_prediction is for complex and distmult.*rotate"):
        RunConfig.parse({"stage1": {"model": "rotate", "relation_prediction": 0.5}}, source="here")

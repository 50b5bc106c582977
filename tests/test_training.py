"""The training loop: stopped anywhere and begun again, it ends where it would have ended."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cear.core import tensors
from cear.core.context import HERE, Context, Deadline
from cear.core.errors import CearError, DataError, MismatchError, OutOfTime
from cear.core.keys import content_key
from cear.core.progress import silent
from cear.core.tensors import read_tensors, write_tensors
from cear.core.types import Ints, Split
from cear.data import KnowledgeBase
from cear.retrieval import ComplExConfig, Distance, Fitted, RotatE, RowsEmbeddings, Scorer
from cear.training import LATEST, Part, Schedule, State, Workers, fit, load_weights
from cear.training.checkpoints import Checkpoint

STEPS, EPOCHS = 5, 4
NEVER = 1e9  # seconds: no checkpoint inside an epoch


class Interrupted(Exception):
    """Stands for whatever ends a process."""


class ToyTask:
    """Fits a line; step `stop` (counted over the life of the task) never happens."""

    def __init__(self, kind: str = "adagrad", *, stop: int | None = None, values: list[float] | None = None) -> None:
        self.model = nn.Linear(3, 1)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.fill_(0.5)
        optimizers: dict[str, Any] = {"adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}
        self.optimizer = optimizers[kind](self.model.parameters(), lr=0.1)
        self.taken: list[tuple[int, int]] = []
        self.seen: list[Tensor] = []  # the weights at each validation
        self._stop, self._values = stop, values

    def __len__(self) -> int:
        return STEPS

    def steps(self, epoch: int, *, first: int, parts: int) -> Iterator[Sequence[Part]]:
        for step in range(first, STEPS):
            if len(self.taken) == self._stop:
                raise Interrupted
            self.taken.append((epoch, step))
            x = torch.randn(4, 3, generator=torch.Generator().manual_seed(100 * epoch + step))
            yield [partial(self.loss, part, len(x)) for part in x.tensor_split(parts) if len(part)]

    def loss(self, x: Tensor, total: int) -> Tensor:
        return (self.model(x).squeeze(-1) - x.sum(-1) * 2).square().sum() / total

    def validate(self) -> float:
        self.seen.append(self.model.weight.detach().clone())
        if self._values is not None:
            return self._values[len(self.seen) - 1]
        return -float(self.model(torch.ones(1, 3)).detach().sub(6).abs())


def schedule(seconds: float = NEVER, **other: int) -> Schedule:
    return Schedule(**{"epochs": EPOCHS, "validate_every": 1, "patience": 99, **other}, checkpoint_seconds=seconds)


def train(task: ToyTask, folder: Path, plan: Schedule | None = None, key: str = "same") -> State:
    return fit(task, plan or schedule(), folder, key=[key])


def outcome(task: Any, state: State) -> dict[str, Any]:
    """All that a training leaves behind, to the last bit; only the clock may differ."""
    slots = task.optimizer.state_dict()["state"]
    return {
        "state": asdict(state) | {"seconds": None},
        "weights": {key: value.tolist() for key, value in task.model.state_dict().items()},
        "optimizer": {i: {key: value.tolist() for key, value in slot.items()} for i, slot in slots.items()},
    }


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


FILES = {"checkpoint.safetensors", "best.safetensors"}


class TestResume:
    @pytest.mark.parametrize("kind", ["adagrad", "adam"])
    @pytest.mark.parametrize("seconds", [0, NEVER], ids=["checkpoint every step", "checkpoint every epoch"])
    @pytest.mark.parametrize("stop", [0, 1, 4, 5, 7, 13, 19])
    def test_interrupted_at_any_step_it_ends_the_same(
        self, tmp_path: Path, kind: str, seconds: float, stop: int
    ) -> None:
        whole, resumed = ToyTask(kind), ToyTask(kind)
        expected = outcome(whole, train(whole, tmp_path / "whole", schedule(seconds)))
        with pytest.raises(Interrupted):
            train(ToyTask(kind, stop=stop), tmp_path / "cut", schedule(seconds))
        assert outcome(resumed, train(resumed, tmp_path / "cut", schedule(seconds))) == expected
        saved = stop if seconds == 0 else stop - stop % STEPS
        assert resumed.taken == whole.taken[saved:], "what was saved is not done again"

    def test_interrupted_after_every_single_step(self, tmp_path: Path) -> None:
        whole = ToyTask()
        expected = outcome(whole, train(whole, tmp_path / "whole"))
        for _ in range(STEPS * EPOCHS - 1):
            with pytest.raises(Interrupted):
                train(ToyTask(stop=1), tmp_path / "cut", schedule(0))
        last = ToyTask(stop=1)
        assert outcome(last, train(last, tmp_path / "cut", schedule(0))) == expected

    @pytest.mark.parametrize("look", range(EPOCHS))
    def test_interrupted_in_validation(self, tmp_path: Path, look: int) -> None:
        class Fails(ToyTask):
            def validate(self) -> float:
                if len(self.seen) == look:
                    raise Interrupted
                return super().validate()

        whole, resumed = ToyTask(), ToyTask()
        expected = outcome(whole, train(whole, tmp_path / "whole"))
        with pytest.raises(Interrupted):
            train(Fails(), tmp_path / "cut", schedule(0))
        assert outcome(resumed, train(resumed, tmp_path / "cut")) == expected

    @pytest.mark.parametrize("write", range(2 * EPOCHS))
    def test_interrupted_at_any_write(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: int) -> None:
        """Between the best weights and the checkpoint, too: the best file may be ahead, never wrong."""
        whole, resumed = ToyTask(), ToyTask()
        expected = outcome(whole, train(whole, tmp_path / "whole"))
        with monkeypatch.context() as patch:
            patch.setattr(tensors, "save_file", failing(write, Interrupted()))
            with pytest.raises(Interrupted):
                train(ToyTask(), tmp_path / "cut")
        assert outcome(resumed, train(resumed, tmp_path / "cut")) == expected

    def test_a_finished_training_is_not_done_again(self, tmp_path: Path) -> None:
        first, again = ToyTask(), ToyTask(stop=0)
        expected = outcome(first, train(first, tmp_path))
        assert outcome(again, train(again, tmp_path)) == expected

    def test_the_seconds_of_both_halves_count(self, tmp_path: Path) -> None:
        with pytest.raises(Interrupted):
            train(ToyTask(stop=STEPS), tmp_path)
        before = saved_state(tmp_path).seconds
        assert 0 < before < train(ToyTask(), tmp_path).seconds

    def test_what_killed_writes_left_is_cleared_away(self, tmp_path: Path) -> None:
        half = tmp_path / ".checkpoint.safetensors.x7.partial"
        half.write_bytes(b"half")
        os.utime(half, (0, 0))
        train(ToyTask(), tmp_path)
        assert files_in(tmp_path) == FILES

    def test_a_state_of_another_version_is_refused_with_its_file(self, tmp_path: Path) -> None:
        with pytest.raises(Interrupted):
            train(ToyTask(stop=STEPS), tmp_path)
        held, said = read_tensors(tmp_path / LATEST)
        write_tensors(tmp_path / LATEST, held, said | {"state": '{"epoch": 1, "mood": 2}'})
        with pytest.raises(DataError, match=r"checkpoint\.safetensors cannot be read: no field .* called mood"):
            train(ToyTask(), tmp_path)


class TestDeadline:
    NOW = Context(deadline=Deadline(at=0))

    def test_it_is_so_many_minutes_from_now_or_never(self) -> None:
        assert Deadline.after(0).passed()
        assert not Deadline.after(60).passed()
        assert Deadline.after(None) == Deadline()
        assert not Deadline().passed()

    def test_a_training_that_is_out_of_time_says_where_it_is_and_how_it_goes_on(self, tmp_path: Path) -> None:
        with pytest.raises(OutOfTime, match=r"epoch 1, step 1 .*Everything is saved: the same command continues"):
            fit(ToyTask(), schedule(), tmp_path, key=["same"], context=self.NOW)
        assert (saved_state(tmp_path).epoch, saved_state(tmp_path).step) == (0, 1)

    def test_stopped_by_it_after_every_step_it_ends_the_same(self, tmp_path: Path) -> None:
        whole, task = ToyTask(), ToyTask()
        expected = outcome(whole, train(whole, tmp_path / "whole"))
        for _ in range(STEPS * EPOCHS):
            with pytest.raises(OutOfTime):
                fit(ToyTask(), schedule(), tmp_path / "cut", key=["same"], context=self.NOW)
        state = fit(task, schedule(), tmp_path / "cut", key=["same"], context=self.NOW)
        assert outcome(task, state) == expected
        assert task.taken == [], "only the last look at validation was left"

    def test_a_finished_training_has_no_use_for_it(self, tmp_path: Path) -> None:
        train(ToyTask(), tmp_path)
        assert fit(ToyTask(), schedule(), tmp_path, key=["same"], context=self.NOW).done


def saved_state(folder: Path) -> State:
    task = ToyTask()
    return Checkpoint(task.model, task.optimizer, folder, content_key("same", HERE.seed), Workers(cpu=True)).resume()


class TestStage1Resumes:
    """The same with the real task: regulariser, sampled negatives, real validation."""

    @pytest.mark.parametrize("stop", [1, 5, 12, 17])
    @pytest.mark.parametrize(
        "settings",
        [
            {"loss": {"negatives": 9}},
            {"loss": {"negatives": 9}, "optimizer": {"kind": "lazy_adam"}},
            {"relation_prediction": 0.5, "optimizer": {"kind": "adam"}},
        ],
        ids=["sampled", "lazy adam", "adam, relation prediction"],
    )
    def test_to_the_same_weights_and_history(
        self,
        towns: KnowledgeBase,
        tmp_path: Path,
        stopping: Callable[[int], Any],
        stop: int,
        settings: dict[str, Any],
    ) -> None:
        small = {"rank": 4, "batch": 20, "epochs": 4, "checkpoint_seconds": 0}
        config = ComplExConfig.model_validate(small | settings)

        def go(folder: str, progress: Any = silent) -> Fitted:
            return config.fit(towns, tmp_path / folder, Context(seed=3, progress=progress))

        whole = go("whole")
        with pytest.raises(KeyboardInterrupt):
            go("cut", stopping(stop))
        resumed = go("cut")
        state, its, scorer, again = whole.training, resumed.training, whole.retriever, resumed.retriever
        assert isinstance(scorer, Scorer)
        assert isinstance(again, Scorer)
        assert asdict(its) | {"seconds": None} == asdict(state) | {"seconds": None}
        assert len(its.history) == 4
        for (name, mine), (_, other) in zip(scorer.state_dict().items(), again.state_dict().items(), strict=True):
            assert torch.equal(mine, other), name
        best = [(tmp_path / folder / "best.safetensors").read_bytes() for folder in ("whole", "cut")]
        assert best[0] == best[1]

    def test_how_often_to_save_does_not_make_it_another_training(self, towns: KnowledgeBase, tmp_path: Path) -> None:
        slow, fast = (ComplExConfig(rank=2, epochs=1, checkpoint_seconds=s) for s in (60, 0))
        slow.fit(towns, tmp_path, HERE)
        assert fast.fit(towns, tmp_path, HERE).training.done

    def test_another_seed_configuration_or_knowledge_base_is_refused(
        self, towns: KnowledgeBase, tmp_path: Path
    ) -> None:
        config = ComplExConfig(rank=2, epochs=1)
        config.fit(towns, tmp_path, HERE)
        splits: dict[Split, Ints] = {"train": towns.facts("train")[1:], "valid": towns.facts("valid")}
        smaller = KnowledgeBase("towns", towns.entities, towns.relations, splits)
        for kb, settings, seed in [
            (towns, config, 1),
            (towns, ComplExConfig(rank=3, epochs=1), 0),
            (smaller, config, 0),
        ]:
            with pytest.raises(MismatchError, match="another configuration or knowledge base"):
                settings.fit(kb, tmp_path, HERE.with_seed(seed))


class TestSchedule:
    def test_it_stops_after_looks_without_a_gain_and_keeps_the_best_weights(self, tmp_path: Path) -> None:
        task = ToyTask(values=[0.1, 0.3, 0.2, 0.3, 0.25, 0.9])
        state = train(task, tmp_path, schedule(epochs=6, patience=3))
        assert (state.epoch, state.best, state.best_epoch) == (5, 0.3, 2), "an equal value is no gain"
        assert state.done
        assert torch.equal(task.model.weight, task.seen[1])
        assert torch.equal(load_weights(tmp_path)["weight"], task.seen[1])

    def test_a_gain_starts_the_count_anew(self, tmp_path: Path) -> None:
        state = train(ToyTask(values=[0.1, 0.0, 0.2, 0.0, 0.3, 0.0]), tmp_path, schedule(epochs=6, patience=2))
        assert (state.epoch, state.best_epoch) == (6, 5)

    def test_early_stop_survives_an_interruption(self, tmp_path: Path) -> None:
        values = [0.3, 0.2, 0.1, 0.9]
        with pytest.raises(Interrupted):
            train(ToyTask(values=values, stop=2 * STEPS + 1), tmp_path, schedule(patience=2))
        state = train(ToyTask(values=values[2:]), tmp_path, schedule(patience=2))
        assert (state.epoch, state.best) == (3, 0.3)

    def test_it_looks_every_so_many_epochs_and_at_the_last(self, tmp_path: Path) -> None:
        state = train(ToyTask(), tmp_path, schedule(epochs=5, validate_every=2))
        assert [entry["epoch"] for entry in state.history] == [2, 4, 5]

    def test_the_history_holds_the_mean_loss_of_the_epoch(self, tmp_path: Path) -> None:
        class Constant(ToyTask):
            def steps(self, epoch: int, *, first: int, parts: int) -> Iterator[Sequence[Part]]:
                del parts
                for step in range(first, STEPS):
                    yield [partial(self.at, epoch, step)]

            def at(self, epoch: int, step: int) -> Tensor:
                return self.model.weight.sum() * epoch + float(step)

        state = train(Constant(values=[1.0]), tmp_path, schedule(epochs=1))
        assert state.history == [{"epoch": 1, "loss": 2.0, "valid": 1.0}]


def failing(at: int, error: BaseException) -> Any:
    """A `save_file` whose call number `at` writes half and raises."""
    calls = iter(range(1_000_000))
    whole = tensors.save_file

    def save_file(content: Any, filename: Path, metadata: Any = None) -> None:
        if next(calls) != at:
            whole(content, filename, metadata)
            return
        filename.write_bytes(b"half of a file")
        raise error

    return save_file


class TestBadFiles:
    def test_a_checkpoint_of_another_training_is_refused_with_both_keys(self, tmp_path: Path) -> None:
        train(ToyTask(), tmp_path, key="a")
        there, here = (content_key(key, HERE.seed)[:12] for key in "ab")
        with pytest.raises(MismatchError, match=rf"\({there}, this one is {here}\).*Use another folder"):
            train(ToyTask(), tmp_path, key="b")

    def test_weights_in_the_place_of_a_checkpoint_are_refused(self, tmp_path: Path) -> None:
        write_tensors(tmp_path / "checkpoint.safetensors", nn.Linear(3, 1).state_dict())
        with pytest.raises(MismatchError, match="no key"):
            train(ToyTask(), tmp_path)

    @pytest.mark.parametrize("name", sorted(FILES))
    @pytest.mark.parametrize("share", [0, 0.02, 0.5, 0.99])
    def test_after_one_that_is_cut_off_a_training_starts_again_to_the_same_result(
        self, tmp_path: Path, name: str, share: float, caplog: pytest.LogCaptureFixture
    ) -> None:
        train(ToyTask(), tmp_path)
        content, best = (tmp_path / name).read_bytes(), (tmp_path / "best.safetensors").read_bytes()
        (tmp_path / name).write_bytes(content[: int(share * len(content))])
        train(ToyTask(), tmp_path)
        assert f"{tmp_path / name} is damaged and made again" in caplog.text
        assert (tmp_path / "best.safetensors").read_bytes() == best

    @pytest.mark.parametrize("name", sorted(FILES))
    def test_one_flipped_bit_is_told_too(self, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
        train(ToyTask(), tmp_path)
        best, content = (tmp_path / "best.safetensors").read_bytes(), bytearray((tmp_path / name).read_bytes())
        content[-2] ^= 1  # of a weight
        (tmp_path / name).write_bytes(content)
        train(ToyTask(), tmp_path)
        assert f"{tmp_path / name} is damaged and made again" in caplog.text
        assert (tmp_path / "best.safetensors").read_bytes() == best

    def test_a_file_of_something_else_is_told(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "checkpoint.safetensors").write_bytes(b"this is not a file of tensors, it is a letter")
        assert train(ToyTask(), tmp_path).done
        assert "checkpoint.safetensors is damaged and made again" in caplog.text

    def test_best_weights_that_are_gone_are_told(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        train(ToyTask(), tmp_path)
        (tmp_path / "best.safetensors").unlink()
        assert train(ToyTask(), tmp_path).done
        assert "has lost its best weights and starts again" in caplog.text


class TestFullDisk:
    @pytest.mark.parametrize("write", [0, 1])
    def test_a_write_that_fails_leaves_the_old_files_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: int
    ) -> None:
        with pytest.raises(Interrupted):
            train(ToyTask(stop=STEPS), tmp_path)
        before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}
        monkeypatch.setattr(tensors, "save_file", failing(write, OSError(28, "No space left on device")))
        with pytest.raises(CearError, match=r"could not be written: .*No space left on device.*it continues"):
            train(ToyTask(), tmp_path)
        assert files_in(tmp_path) == FILES
        changed = {name for name in FILES if (tmp_path / name).read_bytes() != before[name]}
        assert changed <= {"best.safetensors"}, "the checkpoint is as it was; better weights may have been saved"

    def test_a_limit_of_the_system_is_met_the_same_way(self, tmp_path: Path) -> None:
        """Not simulated: the system itself refuses the bytes."""
        path = tmp_path / "best.safetensors"
        write_tensors(path, nn.Linear(3, 1).state_dict())
        before = path.read_bytes()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        try:
            with pytest.raises(CearError, match="could not be written"):
                write_tensors(path, nn.Linear(100, 100).state_dict())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == before
        assert files_in(tmp_path) == {"best.safetensors"}


def test_weights_come_back_as_they_were(tmp_path: Path) -> None:
    scorer = RotatE(RowsEmbeddings(5, 2, seed=1), 3, Distance(2, squared=False, complex_pairs=True))
    write_tensors(tmp_path / "w.safetensors", scorer.state_dict())
    loaded, _ = read_tensors(tmp_path / "w.safetensors")
    assert loaded.keys() == scorer.state_dict().keys()
    assert all(torch.equal(value, loaded[key]) for key, value in scorer.state_dict().items())

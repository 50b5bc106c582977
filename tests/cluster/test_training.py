"""What is told of processes that train together, when they fail."""

from __future__ import annotations

from cear.cluster.training import WorkerLost, raised
from cear.core.errors import OutOfTime


class Wrapped(Exception):
    """As Ray Train hands back what a process raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self._base_exc = cause


def test_what_a_user_can_act_on_is_told_as_it_is() -> None:
    over = OutOfTime("in epoch 2")
    assert raised({0: Wrapped(over), 1: Wrapped(RuntimeError("nobody answers"))}) is over


def test_a_process_that_is_gone_is_a_loss_whatever_the_others_say_of_it() -> None:
    found = raised({0: Wrapped(RuntimeError("connection closed by peer")), 1: ConnectionError("the actor died")})
    assert isinstance(found, WorkerLost)
    assert "process 1" in str(found)
    assert "the actor died" in str(found)


def test_anything_else_is_a_bug_and_nothing_is_said_in_its_place() -> None:
    assert raised({0: Wrapped(ZeroDivisionError())}) is None

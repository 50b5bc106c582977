"""Who makes steps: this process, or machines that share its store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cear.steps.step import Step
    from cear.steps.store import Store


class Executor(Protocol):
    """Has steps made elsewhere. It need not be trusted: a step is in the store, whole and sealed, or it is not."""

    def make(self, steps: Sequence[Step], store: Store) -> None:
        """See to it that the store has these steps, and so all that they are made from."""

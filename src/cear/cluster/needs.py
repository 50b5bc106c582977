"""What a step takes of a machine, and whether a cluster has it: Ray would wait for what is not there without end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cear.steps import Step


@dataclass(frozen=True)
class Needs:
    """What each of the processes that make a step takes."""

    cpus: int
    memory: int
    """In bytes."""
    gpus: int = 0
    processes: int = 1

    @classmethod
    def of(cls, step: Step, *, threads: int, device: str, data: int, data_parallel: int) -> Needs:
        """Those of a step of a run on so many threads and such a device, with data of so many bytes."""
        on_gpu = not step.on_cpu and device.startswith("cuda")
        return cls(threads, data + step.memory, int(on_gpu), data_parallel if step.shared else 1)

    @property
    def resources(self) -> dict[str, float]:
        """They by Ray's names of resources, of one process."""
        return {"CPU": self.cpus, "GPU": self.gpus, "memory": self.memory}

    @property
    def options(self) -> dict[str, float]:
        """They as options of a task of Ray."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "memory": self.memory}


def lacking(ray: Any, needs: Needs) -> str | None:
    """What a cluster lacks to make a step, however long one waits; None where it has all."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for name, need in needs.resources.items():
        most = max((machine.get(name, 0) for machine in machines), default=0)
        if need > most:
            return f"{need:,.0f} of {name}, and the largest of {len(machines)} machines has {most:,.0f}"
        room = sum(int(machine.get(name, 0) // need) for machine in machines) if need else needs.processes
        if room < needs.processes:
            return f"{needs.processes} times {need:,.0f} of {name}, and the cluster has room for {room}"
    return None

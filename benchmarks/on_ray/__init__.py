"""What the benchmarks of clusters share: a run in a process of its own, several machines on this one, kills."""

from on_ray.driving import CONFIG, Driver, written
from on_ray.killing import descendants, kill, working
from on_ray.machines import Machines

__all__ = ["CONFIG", "Driver", "Machines", "descendants", "kill", "working", "written"]

"""The same steps on many machines: Ray is imported in this room alone, and only when it is asked for."""

from cear.cluster.connecting import Cluster, ray_at
from cear.cluster.parts import PartsOnRay, parts_at, trees_on, vectors_on

__all__ = ["Cluster", "PartsOnRay", "parts_at", "ray_at", "trees_on", "vectors_on"]

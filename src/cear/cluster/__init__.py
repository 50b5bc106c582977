"""The same steps on many machines: Ray is imported in this room alone, and only when it is asked for."""

from cear.cluster.connecting import Cluster, ray_at
from cear.cluster.parts import trees_on, vectors_on

__all__ = ["Cluster", "ray_at", "trees_on", "vectors_on"]

"""What can go wrong, as a tree: catch `CearError` for all of it.

Every message says what happened, with which value, where, and what to do about it.
"""


class CearError(Exception):
    """Any error that a user can act on."""


class DataError(CearError):
    """A file or a knowledge base is not what it should be."""


class DiskError(CearError, OSError):
    """A file cannot be written: the disk is full, or nobody may write there."""


class ConfigError(CearError):
    """A configuration has an unknown key or a value out of range."""


class UnknownName(CearError):
    """A name of an entity, relation, model or data set that nothing has; the message suggests close ones."""


class AmbiguousName(CearError):
    """A name that several entities share; the message lists their ids."""


class MismatchError(CearError):
    """A saved file was made for another configuration or another knowledge base."""


class OutOfTime(CearError):
    """The time that was given is over; all work is saved, and the same call goes on."""


class ClusterError(CearError):
    """Machines that should make steps are not there, too small, or lost too often; what is made is kept."""


class StoreError(CearError):
    """A store that machines share cannot be reached, or refuses; what is made is kept on this machine."""


class TooSlow(CearError):
    """Work that would take longer than anybody has agreed to; nothing of it was done."""


class ScoreError(CearError):
    """Scores that cannot be ranked: not finite, or of the wrong shape."""


class LeakError(CearError):
    """Scores or lists that carry traces of the gold answer."""

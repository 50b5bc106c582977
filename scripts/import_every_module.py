"""Imports every module of the installed package, and names those that cannot be; `make check-install` runs it.

In an environment without extras this finds a package that is imported and not declared. What is missing because it
belongs to an extra is no fault: the rest of the package does without that module.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import requires
from pkgutil import walk_packages

import cear

DECLARED = (re.split(r"[^\w.-]", line)[0] for line in requires("cear") or [] if "extra ==" in line)
EXTRAS = {name.replace("-", "_") for name in DECLARED}  # prometheus-client is imported as prometheus_client


def main() -> int:
    """The exit code: 1 when some module cannot be imported."""
    names = [module.name for module in walk_packages(cear.__path__, "cear.") if not module.name.endswith("__main__")]
    faults = [fault for name in names if (fault := _fault(name))]
    print(*faults, f"{len(names)} modules of {cear.__file__}, {len(faults)} that cannot be imported.", sep="\n")
    return 1 if faults else 0


def _fault(name: str) -> str | None:
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        return None if error.name in EXTRAS else f"{name}: {error}"
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())

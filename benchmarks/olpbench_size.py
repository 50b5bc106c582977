"""An open knowledge base of OLPBENCH's size: written, read from text, read from the cache.

python benchmarks/olpbench_size.py --scale 0.01
python benchmarks/olpbench_size.py --folder big    # 30.6 million facts, about 2.5 GB
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from open_kb.files import write_open_kb
from open_kb.world import Sizes

from cear.data import load

T = TypeVar("T")


def timed(what: str, make: Callable[[], T]) -> T:
    """What was made, after printing how long it took and the memory used so far."""
    start = time.perf_counter()
    made = make()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what:<28} {time.perf_counter() - start:8.1f} s   peak {peak:6.2f} GiB", flush=True)
    return made


def main() -> None:
    """Write unless it is there, read twice, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is OLPBENCH's size")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where to write it, or where it is already; default: temporary")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        os.environ["CEAR_CACHE"] = f"{place}/cache"
        folder = arguments.folder or Path(place) / "open-kb"
        if not (folder / "test_data.txt").exists():
            sizes = Sizes().scaled(arguments.scale)
            timed("write", lambda: write_open_kb(folder, sizes, seed=arguments.seed))
        timed("read from text", lambda: load(folder, cache=False))
        timed("read from text and keep", lambda: load(folder))
        print(timed("read from cache", lambda: load(folder)))


if __name__ == "__main__":
    main()

"""Where a training step of a scorer spends its time, and what kept memory and bfloat16 are worth.

python benchmarks/training_step.py configs/wn18rr/conve.yaml

Steps of the configuration's Stage 1, on its data, in fresh processes: as the C library treats memory by itself, with
freed memory kept as training does, and that with products in bfloat16. The shares are those of PyTorch's profiler, of
the operations' own time: of products of matrices, of the convolution, of everything else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from cear.config import load_config
from cear.core.context import Context, Precision
from cear.core.files import write_json
from cear.core.memory import prepare_for_training
from cear.data import load
from cear.reports import Provenance
from cear.retrieval import GradientConfig
from cear.retrieval.training import Stage1Task

WAYS = ("memory given back", "memory kept", "memory kept, bfloat16")
GROUPS = {
    "products": ("aten::mm", "aten::addmm", "aten::bmm"),
    "convolution": ("aten::mkldnn_convolution", "aten::convolution_backward", "aten::_slow_conv2d_forward"),
}
WARM_UP = 3  # steps


def measure(path: Path, way: str, *, steps: int, threads: int) -> dict[str, Any]:
    """Seconds of a step, and the share of each group of operations, in this process."""
    torch.set_num_threads(threads)
    if way != WAYS[0]:
        prepare_for_training()
    take = stepper(path, "bf16" if way == WAYS[2] else "fp32")
    for _ in range(WARM_UP):
        take()
    start = time.perf_counter()
    for _ in range(steps):
        take()
    seconds = (time.perf_counter() - start) / steps
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        for _ in range(max(steps // 4, 1)):
            take()
    own = {event.key: event.self_cpu_time_total for event in seen.key_averages()}
    shares = {name: sum(own.get(key, 0) for key in keys) / sum(own.values()) for name, keys in GROUPS.items()}
    return {"seconds_a_step": seconds, "shares": shares}


def stepper(path: Path, precision: Precision) -> Any:
    """Takes the next step of the training of a configuration's Stage 1."""
    settings = load_config(path)
    kb, config = load(settings.data), settings.stage1
    if not isinstance(config, GradientConfig):
        raise SystemExit(f"{path}: `model: {config.model}` is not trained by gradients.")
    context = Context(precision=precision)
    task = Stage1Task(config.build(kb, context), kb, config, lambda _: 0.0, context)
    parts = task.steps(0, first=0, parts=1)

    def take() -> None:
        task.optimizer.zero_grad()
        for part in next(parts):
            part().backward()  # type: ignore[no-untyped-call]
        task.optimizer.step()

    return take


def main() -> None:
    """Measure each way in a process of its own, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", type=Path, nargs="+", help="configurations whose Stage 1 learns by gradients")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--way", choices=WAYS, help="measure this one here and print it")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/training_step.json"))
    options = parser.parse_args()
    if options.way:
        print(json.dumps(measure(options.configs[0], options.way, steps=options.steps, threads=options.threads)))
        return
    start, found = time.perf_counter(), {}
    for path in options.configs:
        found[str(path)] = {way: in_a_process(path, way, options.steps, options.threads) for way in WAYS}
        first, *others = (found[str(path)][way]["seconds_a_step"] for way in WAYS)
        print(path, *(f"{first / other:.2f}x" for other in others))
    config = {"steps": options.steps, "threads": options.threads}
    provenance = Provenance.collect(config=config, data="", digest="", seconds=time.perf_counter() - start)
    what = "seconds of a training step and where they go; memory and precision as training treats them"
    write_json(options.out, {"what": what, "configurations": found, "provenance": provenance.as_json()})


def in_a_process(path: Path, way: str, steps: int, threads: int) -> dict[str, Any]:
    """What `measure` finds in a fresh process: how memory is treated cannot be taken back."""
    command = [sys.executable, __file__, str(path), "--way", way, "--steps", str(steps), "--threads", str(threads)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    values: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return values


if __name__ == "__main__":
    main()

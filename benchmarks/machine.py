"""What a timing must carry: machine, threads, versions, commit."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import torch

MADE = ("experiments/results", "benchmarks/results", "docs")
"""Folders of what runs write: a change there does not change what the next one does."""


def provenance(*packages: str) -> dict[str, object]:
    """Return where and with what the timings were taken."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("walkconv", "torch", "numpy", *packages)},
        "commit": _commit(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


def _commit() -> str:
    def git(*words: str) -> str:
        folder = Path(__file__).parent
        return subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=False
        ).stdout.strip()

    others = [f":(top,exclude){folder}" for folder in MADE]
    is_changed = bool(git("status", "--porcelain", "--untracked-files=no", "--", ":/", *others))
    return git("rev-parse", "--short", "HEAD") + "+" * is_changed

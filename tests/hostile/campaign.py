"""Many hostile files: ``python -m tests.hostile.campaign --minutes 60`` (``make fuzz``).

Findings are kept as files in the folder ``corpus``, from where the tests run them again.
"""

import argparse
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Lock

from tests.hostile.bases import BASES
from tests.hostile.mutate import mutate
from tests.hostile.worker import HARMLESS, Worker

CORPUS = Path(__file__).parent / "corpus"
SLOW = {"fit checkpoint": 0.25, "model": 1.5, "choosing fit": 0.05, "command": 0.1}
SLOW |= {"fit": 0.5, "stored table": 0.5, "summary": 0.5, "comparison": 0.25}
"""How often a kind is drawn; others once."""


def stored_cases(folder=CORPUS):
    """Return the kind and the path of every file of the corpus."""
    return [(path.parent.name, path) for path in sorted(folder.glob("*/*.case"))]


def main():
    """Run cases until the time is over, and print how many did what."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="Processes that run cases.")
    parser.add_argument("--kind", choices=list(BASES), action="append")
    parser.add_argument("--findings", type=Path, default=CORPUS)
    arguments = parser.parse_args()
    found = Found(arguments.findings)
    kinds = arguments.kind or list(BASES)
    seeds = range(arguments.seed, arguments.seed + arguments.jobs)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for done in [pool.submit(_run, seed, kinds, found, arguments.minutes) for seed in seeds]:
            done.result()
    for (kind, what), number in sorted(found.counts.items()):
        print(f"  {kind:30}{what:12}{number:8}")
    print(f"{found}, peak {found.peak_bytes / 2**20:.0f} MiB more")
    raise SystemExit(bool(found.n_findings))


class Found:
    """What all cases came to; a finding is kept as a file, and printed once."""

    def __init__(self, folder):
        self.folder, self.lock = folder, Lock()
        self.counts, self.seen = Counter(), set()
        self.peak_bytes, self.reported = 0, time.monotonic()

    def add(self, kind, case, outcome):
        """Count a case."""
        with self.lock:
            self.counts[kind, outcome.what] += 1
            self.peak_bytes = max(self.peak_bytes, outcome.peak_bytes)
            if outcome.is_finding:
                lines = outcome.detail.strip().splitlines()
                mark = kind, outcome.what, *lines[-1:], *lines[-3:-2]
                if mark not in self.seen:
                    self.seen.add(mark)
                    _keep(self.folder, kind, case)
                    print(f"{kind}: {outcome.what}\n{outcome.detail}", flush=True)
            if time.monotonic() - self.reported > 60:
                self.reported = time.monotonic()
                print(self, flush=True)

    @property
    def n_findings(self):
        """Number of cases in which a promise was broken."""
        return sum(n for (_, what), n in self.counts.items() if what not in HARMLESS)

    def __str__(self):
        return f"{self.counts.total()} cases, {self.n_findings} findings"


def _run(seed, kinds, found, minutes):
    """Run cases, each drawn from a seed, for some minutes."""
    draw, worker = random.Random(seed), Worker()
    try:
        bases = {kind: worker.bases(kind) for kind in kinds}
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            kind = draw.choices(kinds, [SLOW.get(kind, 1) for kind in kinds])[0]
            case = mutate(draw, kind, draw.choice(bases[kind]))
            found.add(kind, case, worker.run(kind, case))
    finally:
        worker.close()


def _keep(folder, kind, case):
    path = folder / kind / f"{sha256(case).hexdigest()[:12]}.case"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case)


if __name__ == "__main__":
    main()

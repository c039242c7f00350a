"""Many hostile files: ``python -m tests.hostile.campaign --minutes 60`` (``make fuzz``).

Findings are kept as files in the folder ``corpus``, from where the tests run them again.
"""

import argparse
import random
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path

from tests.hostile.bases import BASES
from tests.hostile.mutate import mutate
from tests.hostile.worker import Worker

CORPUS = Path(__file__).parent / "corpus"
SLOW = {"fit checkpoint": 0.25, "model": 1.5, "selection checkpoint": 1.0}
"""How often a kind is drawn; others once."""


def stored_cases(folder=CORPUS):
    """Return the kind and the path of every file of the corpus."""
    return [(path.parent.name, path) for path in sorted(folder.glob("*/*.case"))]


def main():
    """Run cases until the time is over, and print how many did what."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=list(BASES), action="append")
    parser.add_argument("--findings", type=Path, default=CORPUS)
    arguments = parser.parse_args()
    kinds = arguments.kind or list(BASES)
    draw, worker = random.Random(arguments.seed), Worker()
    bases = {kind: worker.bases(kind) for kind in kinds}
    counts, peak, reported = Counter(), 0, time.monotonic()
    seen = set()
    end = time.monotonic() + 60 * arguments.minutes
    try:
        while time.monotonic() < end:
            kind = draw.choices(kinds, [SLOW.get(kind, 1) for kind in kinds])[0]
            case = mutate(draw, kind, draw.choice(bases[kind]))
            outcome = worker.run(kind, case)
            counts[kind, outcome.what] += 1
            peak = max(peak, outcome.peak_bytes)
            if outcome.is_finding:
                lines = outcome.detail.strip().splitlines()
                mark = kind, outcome.what, *lines[-1:], *lines[-3:-2]
                if mark not in seen:
                    seen.add(mark)
                    _keep(arguments.findings, kind, case)
                    print(f"{kind}: {outcome.what}\n{outcome.detail}", flush=True)
            if time.monotonic() - reported > 60:
                reported = time.monotonic()
                print(f"{counts.total()} cases, {_n_findings(counts)} findings", flush=True)
    finally:
        worker.close()
    for (kind, what), number in sorted(counts.items()):
        print(f"  {kind:22}{what:12}{number:8}")
    print(
        f"{counts.total()} cases, {_n_findings(counts)} findings, peak {peak / 2**20:.0f} MiB more"
    )
    raise SystemExit(bool(_n_findings(counts)))


def _n_findings(counts):
    harmless = ("ok", "refused", "malformed")
    return sum(n for (_, what), n in counts.items() if what not in harmless)


def _keep(folder, kind, case):
    path = folder / kind / f"{sha256(case).hexdigest()[:12]}.case"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case)


if __name__ == "__main__":
    main()

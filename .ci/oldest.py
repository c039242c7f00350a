"""Prints the lower bounds of pyproject.toml as constraints: the oldest versions we promise.

    python .ci/oldest.py 2.13.0

torch is pinned to the version given, since builds of it without CUDA are not kept everywhere. Tools
that check the code are not needed to run it.
"""

import re
import sys
import tomllib
from pathlib import Path

torch = sys.argv[1]
project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
bounds = [
    *project["dependencies"],
    *(each for name in extras if name != "dev" for each in extras[name]),
]
for requirement in sorted(set(bounds)):
    name, at_least, version = re.sub(r"\[.*\]", "", requirement).partition(">=")
    if at_least and name != "torch":
        print(f"{name}=={version}")
print(f"torch=={torch}")

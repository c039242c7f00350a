"""The demonstration runs, on the small digits."""

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


@pytest.mark.slow
def test_the_demonstration_runs_on_the_small_digits(tmp_path):
    done = subprocess.run(
        [sys.executable, DEMO, "--digits"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "200 of 200 answers are those of this process" in done.stdout
    assert "Structure found" in done.stdout
    made = {path.name for path in (tmp_path / "demo-output").iterdir()}
    picture, page = "neighborhoods.png", "report.html"
    assert made == {"digits.safetensors", "new.csv", "answers.csv", picture, page}
    assert f"to open in a browser: {(tmp_path / 'demo-output' / page).resolve()}" in done.stdout

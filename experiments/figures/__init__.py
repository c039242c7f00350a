"""The figures of the paper, computed anew: `python -m experiments.figures` writes docs/figures."""

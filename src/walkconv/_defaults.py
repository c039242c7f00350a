"""Defaults that the command line shares with the estimators, and can read without torch."""

N_NEIGHBORS = 9
"""Neighbours of a node, itself included, where nothing else is asked for."""

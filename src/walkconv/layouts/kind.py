"""What the columns form: the one criterion by which a kind is chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from walkconv._checks import check_integer, check_option
from walkconv.layouts.layout import KINDS, Kind
from walkconv.layouts.search import Candidate, best_candidate


@dataclass(frozen=True)
class Limit:
    """What a layout must reach.

    Attributes
    ----------
    most_stress : float
    least_kept : float
    least_nodes : int
        With fewer nodes noise fits as well.
    """

    most_stress: float
    least_kept: float
    least_nodes: int


LIMITS = {1: Limit(0.01, 0.75, 10), 2: Limit(0.025, 0.8, 36), 3: Limit(0.025, 0.85, 100)}
"""For each number of axes, chosen on the tables that docs/structure.md names."""


def kind_of(candidate: Candidate) -> tuple[Kind, str]:
    """Return the kind of a layout, "none" if it is not adequate, and the reason."""
    n_nodes, n_dims = candidate.positions.shape
    limit = LIMITS[n_dims]
    kind: Kind = "ring" if candidate.period.any() else KINDS[n_dims]
    if n_nodes < limit.least_nodes:
        reason = f"{n_nodes} nodes are too few to tell a {kind} (at least {limit.least_nodes})"
        return "none", reason
    is_adequate = candidate.stress <= limit.most_stress and candidate.kept >= limit.least_kept
    reason = (
        f"a {kind} {'fits' if is_adequate else 'does not fit'}: stress {candidate.stress:.2g} (at "
        f"most {limit.most_stress}), {candidate.kept:.0%} of the strongest relations lead to "
        f"nearest nodes (at least {limit.least_kept:.0%})"
    )
    return (kind if is_adequate else "none"), reason


def check_dims(n_dims: Any) -> Sequence[int]:
    """Return the numbers of axes to try."""
    if isinstance(n_dims, str):
        check_option(n_dims, "n_dims", ["auto"])
        return list(LIMITS)
    return [check_integer(n_dims, "n_dims", minimum=1, maximum=3)]


def fewest_dims(
    relations: Sequence[sp.csr_array],
    *,
    tried: Mapping[int, Sequence[int]],
    n_landmarks: int,
) -> Candidate:
    """Return the best layout with the fewest axes that is adequate, or a plane if none is.

    Parameters
    ----------
    relations : sequence of csr_array of shape (n_nodes, n_nodes)
        Symmetric, positive and connected.
    tried : mapping of int to sequence of int
        The numbers of edges of a node to try for each number of axes, the fewest axes first.
    n_landmarks : int
        Nodes from which distances are measured.
    """
    n_nodes = relations[0].shape[0]
    told = [n_dims for n_dims in tried if n_nodes >= LIMITS[n_dims].least_nodes]
    found = []
    for n_dims in told or list(tried)[:1]:
        found.append(
            best_candidate(relations, tried=tried[n_dims], n_dims=n_dims, n_landmarks=n_landmarks)
        )
        if kind_of(found[-1])[0] != "none":
            return found[-1]
    return next((each for each in found if each.positions.shape[1] == 2), found[0])

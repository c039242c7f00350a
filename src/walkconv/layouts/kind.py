"""What the columns form: the one criterion by which a kind is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from walkconv._checks import check_integer, check_option
from walkconv.layouts.explained import Judge
from walkconv.layouts.layout import KINDS, Kind
from walkconv.layouts.search import WHOLE, Candidate, best_candidate, trials


@dataclass(frozen=True)
class Limit:
    """What a layout must reach.

    Attributes
    ----------
    least_fit : float
    least_nodes : int
        With fewer nodes noise fits as well.
    """

    least_fit: float
    least_nodes: int


FEW_NODES = 2048
"""So few that handing a matrix to several threads of BLAS takes longer than the work."""
LIMITS = {1: Limit(0.65, 20), 2: Limit(0.75, 36), 3: Limit(0.85, 100)}
"""For each number of axes, chosen on the tables that docs/structure.md names."""


def kind_of(candidate: Candidate) -> tuple[Kind, str]:
    """Return the kind of a layout, "none" if it is not adequate, and the reason."""
    n_nodes, n_dims = candidate.positions.shape
    limit = LIMITS[n_dims]
    kind: Kind = "ring" if candidate.period.any() else KINDS[n_dims]
    if n_nodes < limit.least_nodes:
        reason = f"{n_nodes} nodes are too few to tell a {kind} (at least {limit.least_nodes})"
        return "none", reason
    if n_dims > 1 and candidate.whole < WHOLE:
        reason = f"the nodes fall into groups, so a {kind} would join what is not related"
        return "none", reason
    is_adequate = candidate.fit >= limit.least_fit
    by_table = ""
    if candidate.share is not None:
        by_table = f"near columns explain {candidate.share:.0%} of what the most related explain, "
    reason = (
        f"a {kind} {'fits' if is_adequate else 'does not fit'}: stress {candidate.stress:.2g}, "
        f"{by_table}{candidate.kept:.0%} of the strong relations lead to near nodes, "
        f"{candidate.crowded:.0%} of their paths close a triangle; "
        f"that counts {candidate.fit:.2f} (at least {limit.least_fit})"
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
    dims: Sequence[int],
    tried: Sequence[int],
    n_landmarks: int,
    judge: Judge | None = None,
) -> Candidate:
    """Return the best layout with the fewest axes that is adequate, or a plane if none is.

    Parameters
    ----------
    relations : sequence of csr_array of shape (n_nodes, n_nodes)
        Symmetric, positive and connected.
    dims : sequence of int
        Numbers of axes to try, the fewest first.
    tried : sequence of int
        The numbers of edges of a node to try.
    n_landmarks : int
        Nodes from which distances are measured.
    judge : Judge, optional
        See `best_candidate`.
    """
    n_nodes = relations[0].shape[0]
    if n_nodes <= FEW_NODES:
        with threadpool_limits(limits=1, user_api="blas"):
            return _fewest_dims(relations, dims, tried, n_landmarks, judge)
    return _fewest_dims(relations, dims, tried, n_landmarks, judge)


def _fewest_dims(
    relations: Sequence[sp.csr_array],
    dims: Sequence[int],
    tried: Sequence[int],
    n_landmarks: int,
    judge: Judge | None,
) -> Candidate:
    n_nodes = relations[0].shape[0]
    starts = trials(relations, tried=tried, n_landmarks=n_landmarks)
    told = [n_dims for n_dims in dims if n_nodes >= LIMITS[n_dims].least_nodes]
    found = []
    for n_dims in told or list(dims)[:1]:
        found.append(best_candidate(starts, n_dims=n_dims, n_landmarks=n_landmarks, judge=judge))
        if kind_of(found[-1])[0] != "none":
            return found[-1]
    return next((each for each in found if each.positions.shape[1] == 2), found[0])

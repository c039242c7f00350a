"""Molecules written as SMILES become graphs of atoms; needs rdkit (``walkconv[molecules]``)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from walkconv._adapters import edges_to_matrix
from walkconv._checks import describe
from walkconv._samples import GraphSample


def graphs_from_smiles(smiles: Sequence[str]) -> list[GraphSample]:
    """Return one graph for each molecule: atoms are nodes, bonds are edges.

    Parameters
    ----------
    smiles : sequence of str
        Molecules in SMILES notation.

    Returns
    -------
    list of GraphSample
        The weight of an edge is the order of the bond (1.5 where it is aromatic), `tags` are
        atomic numbers, and the four channels of `x` are the formal charge, the number of
        hydrogens, and whether the atom is aromatic and in a ring. Hydrogens are not nodes.

    Examples
    --------
    >>> from walkconv import graphs_from_smiles
    >>> graphs_from_smiles(["CCO"])  # doctest: +SKIP
    [GraphSample(n_nodes=3, n_edges=4, n_channels=4, tags)]
    """
    if isinstance(smiles, str):
        raise TypeError(f"smiles must be a list of strings; got one string, {describe(smiles)}.")
    return [_graph(_read(text, place)) for place, text in enumerate(smiles)]


def _read(smiles: str, place: int) -> Any:
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise ImportError(
            "graphs_from_smiles needs rdkit. Install it: pip install 'walkconv[molecules]'."
        ) from None
    if not isinstance(smiles, str):
        raise TypeError(f"smiles must be strings; molecule {place} is {describe(smiles)}.")
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or molecule.GetNumAtoms() == 0:
        raise ValueError(
            f"Every molecule must be valid SMILES with at least one atom; "
            f"molecule {place} is {smiles!r}."
        )
    return molecule


def _graph(molecule: Any) -> GraphSample:
    atoms, bonds = list(molecule.GetAtoms()), list(molecule.GetBonds())
    ends = np.array([[b.GetBeginAtomIdx(), b.GetEndAtomIdx()] for b in bonds], dtype=np.int64)
    ends = ends.reshape(-1, 2).T
    order = np.array([bond.GetBondTypeAsDouble() for bond in bonds])
    edges, weight = np.concatenate([ends, ends[::-1]], axis=1), np.tile(order, 2)
    x = [(a.GetFormalCharge(), a.GetTotalNumHs(), a.GetIsAromatic(), a.IsInRing()) for a in atoms]
    return GraphSample(
        edges_to_matrix(edges, weight, n_nodes=len(atoms)),
        x=np.array(x, dtype=np.float32),
        tags=[atom.GetAtomicNum() for atom in atoms],
    )

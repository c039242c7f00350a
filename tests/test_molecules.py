import sys

import numpy as np
import pytest

from walkconv import graphs_from_smiles


def test_atoms_bonds_and_what_is_known_of_them():
    pytest.importorskip("rdkit")
    acid, benzene = graphs_from_smiles(["CC(=O)[O-]", "c1ccccc1"])
    np.testing.assert_array_equal(acid.tags, [6, 6, 8, 8])
    np.testing.assert_array_equal(
        acid.graph.toarray(), [[0, 1, 0, 0], [1, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]]
    )
    # charge, hydrogens, aromatic, in a ring
    np.testing.assert_array_equal(acid.x, [[0, 3, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [-1, 0, 0, 0]])
    np.testing.assert_array_equal(benzene.x, np.tile([0, 1, 1, 1], (6, 1)))
    assert set(benzene.graph.data) == {1.5}


def test_a_lone_atom_is_a_graph():
    pytest.importorskip("rdkit")
    (water,) = graphs_from_smiles(["O"])
    assert (water.n_nodes, water.graph.nnz) == (1, 0)


@pytest.mark.parametrize(
    ("smiles", "error", "message"),
    [
        (["CCO", "C1CC"], ValueError, "molecule 1 is 'C1CC'"),
        (["CCO", ""], ValueError, "at least one atom; molecule 1 is ''"),
        ([3], TypeError, "molecule 0 is 3"),
        ("CCO", TypeError, "got one string"),
    ],
    ids=["open ring", "empty", "number", "one string"],
)
def test_what_is_no_molecule_is_named(smiles, error, message):
    pytest.importorskip("rdkit")
    with pytest.raises(error, match=message):
        graphs_from_smiles(smiles)


def test_without_rdkit_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(ImportError, match=r"pip install 'walkconv\[molecules\]'"):
        graphs_from_smiles(["CCO"])

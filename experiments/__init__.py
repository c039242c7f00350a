"""The paper's tables, row by row; see README.md in this folder."""

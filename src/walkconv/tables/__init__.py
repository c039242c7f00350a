"""Columns of a table that hold text, categories or dates become numbers.

The estimators do this by themselves. By hand it serves what takes only numbers, such as an export.

Examples
--------
>>> import polars as pl
>>> import walkconv
>>> table = pl.DataFrame({"colour": ["red", "blue", "red"], "height": [1.5, 2.0, 1.8]})
>>> walkconv.tables.learn_table_encoding(table).apply(table)
array([[0. , 1. , 1.5],
       [1. , 0. , 2. ],
       [0. , 1. , 1.8]])
"""

from .encoding import TableEncoding, learn_table_encoding

__all__ = ["TableEncoding", "learn_table_encoding"]

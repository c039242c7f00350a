"""Columns of a table that hold text, categories or dates become numbers."""

from .encoding import TableEncoding, learn_table_encoding

__all__ = ["TableEncoding", "learn_table_encoding"]

"""Columns of a table become pixels of an image."""

from .column_layout import ColumnLayout

__all__ = ["ColumnLayout"]

"""A fitted model and test rows become a summary: plain values that JSON can hold."""

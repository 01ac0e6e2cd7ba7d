"""Linear algebra: factorizations, solutions and functions of matrices; `pyburn.linalg` names what is public."""

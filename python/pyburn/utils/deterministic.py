"""torch.utils.deterministic: its one switch is kept; new memory is never read here before it is written."""

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory = True

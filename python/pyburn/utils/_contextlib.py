"""torch.utils._contextlib: the base of contexts that also decorate functions."""

from pyburn.autograd.grad_mode import _Mode

__all__: list[str] = []


class _DecoratorContextManager(_Mode):
    """A context that decorates functions and generators too; subclasses have `__enter__`, `__exit__` and `clone`."""

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *_error: object) -> None:
        raise NotImplementedError

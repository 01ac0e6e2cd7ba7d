"""torch._dynamo.exc: what torch's compiler raises; nothing here raises it."""

__all__ = ["BackendCompilerFailed", "InternalTorchDynamoError", "TorchDynamoException", "Unsupported", "UserError"]


class TorchDynamoException(RuntimeError):
    """The base of them all."""


class InternalTorchDynamoError(TorchDynamoException):
    """The compiler itself failed."""


class Unsupported(TorchDynamoException):
    """A program cannot be compiled."""


class BackendCompilerFailed(TorchDynamoException):
    """The back end failed."""


class UserError(Unsupported):
    """A program is wrong."""

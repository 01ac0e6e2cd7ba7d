"""torch.utils.tensorboard: event files that TensorBoard shows, written without its packages."""

from pyburn.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]

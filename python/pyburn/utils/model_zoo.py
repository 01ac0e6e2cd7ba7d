"""torch.utils.model_zoo: an old name of what is now in `hub`."""

from pyburn._progress import tqdm
from pyburn.hub import load_state_dict_from_url

__all__ = ["load_url", "tqdm"]

load_url = load_state_dict_from_url

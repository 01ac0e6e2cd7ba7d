"""Features of torchvision's models by torch.fx; run on torch, and by `python -m pyburn run` on pyburn."""

import copy
import json
import pickle

import numpy as np
import torch
import torchvision
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

NODES = {
    "resnet18": ["layer1", "layer3.0.relu", "avgpool"],
    "mobilenet_v3_small": ["features.3.block.1", "features.12", "classifier"],
}


def filled(model):
    """The model with numbers that both libraries draw alike."""
    rng = np.random.default_rng(0)
    drawn = {name: rng.uniform(-0.05, 0.1, tuple(value.shape)) for name, value in model.state_dict().items()}
    drawn = {name: np.abs(value) + 0.5 if "running_var" in name else value for name, value in drawn.items()}
    state = {name: torch.tensor(drawn[name], dtype=value.dtype) for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    return model


def summary(features):
    """Shapes and a few numbers of each feature."""
    found = {}
    for name, value in features.items():
        flat = value.detach().reshape(-1)
        found[name] = [list(value.shape), flat[:: max(1, flat.numel() // 20)].tolist()]
    return found


def main():
    """What both libraries must agree on."""
    x = torch.tensor(np.random.default_rng(1).standard_normal((2, 3, 32, 32)).astype("float32"))
    found = {}
    for name, nodes in NODES.items():
        model = filled(getattr(torchvision.models, name)())
        extractor = create_feature_extractor(model, return_nodes={node: node for node in nodes})
        copied = copy.deepcopy(extractor).eval()
        train_code = extractor.code
        extractor.eval()
        pickled = pickle.loads(pickle.dumps(torch.fx.symbolic_trace(model.eval())))
        found[name] = {
            "names": get_graph_node_names(model),
            "code": [train_code, extractor.code],
            "features": summary(extractor(x)),
            "copied": summary(copied(x)),
            "pickled": summary({"output": pickled(x), "expected": model(x)}),
        }
    return found


if __name__ == "__main__":
    print(json.dumps({"torch": torch.__version__, "found": main()}))

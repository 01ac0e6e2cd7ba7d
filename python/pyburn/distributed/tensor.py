"""torch.distributed.tensor: tensors in pieces on several processes, of which there are none; using it raises."""

from pyburn._absent import absent_class, absent_function

_WHY = ("pyburn computes in one process", "use a plain tensor")

DTensor = absent_class("distributed.tensor.DTensor", *_WHY)
Shard = absent_class("distributed.tensor.Shard", *_WHY)
Replicate = absent_class("distributed.tensor.Replicate", *_WHY)
distribute_tensor = absent_function("distributed.tensor.distribute_tensor", *_WHY)
distribute_module = absent_function("distributed.tensor.distribute_module", *_WHY)

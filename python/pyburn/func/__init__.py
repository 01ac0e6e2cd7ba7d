"""torch.func: gradients, products with Jacobians and batching of functions, by the recorded graph and plain loops."""

from pyburn.func._functionalize import functionalize
from pyburn.func._grad import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from pyburn.func._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from pyburn.func._vmap import vmap

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

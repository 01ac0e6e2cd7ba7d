"""torch.fx: programs as graphs, which other programs can read, change and run.

Running a program once with stand-ins for its inputs gives its graph (`symbolic_trace`); a `GraphModule` runs a graph.

Differs from torch:
    Functions of `linalg`, `fft` and `special` stand in code under their public names; methods of tensors that a program
    holds may have any argument that is not known yet; `pickle` keeps the nodes of a graph, not its code.
"""

from pyburn.fx import experimental as experimental
from pyburn.fx import immutable_collections as immutable_collections
from pyburn.fx import passes as passes
from pyburn.fx._names import arm_makers as _arm_makers
from pyburn.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from pyburn.fx.graph import CodeGen, Graph
from pyburn.fx.graph_module import GraphModule
from pyburn.fx.interpreter import Interpreter, Transformer
from pyburn.fx.node import Node, has_side_effect, map_arg
from pyburn.fx.proxy import Proxy
from pyburn.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

_arm_makers()

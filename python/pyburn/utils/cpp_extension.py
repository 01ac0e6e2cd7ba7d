"""torch.utils.cpp_extension: C++ against torch's headers, which pyburn has not; using it raises."""

from typing import Any

from pyburn._absent import absent_class, absent_function

_WHY = ("pyburn has no C++ interface", "write the operation with tensor functions, or as an autograd.Function")

BuildExtension: Any = absent_class("utils.cpp_extension.BuildExtension", *_WHY)
CppExtension = absent_function("utils.cpp_extension.CppExtension", *_WHY)
CUDAExtension = absent_function("utils.cpp_extension.CUDAExtension", *_WHY)
include_paths = absent_function("utils.cpp_extension.include_paths", *_WHY)
load = absent_function("utils.cpp_extension.load", *_WHY)
load_inline = absent_function("utils.cpp_extension.load_inline", *_WHY)
CUDA_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False

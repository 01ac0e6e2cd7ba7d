"""torch.nested: tensors of tensors of different sizes, which pyburn has not; using it raises."""

from pyburn._absent import absent_function

_WHY = ("pyburn has no nested tensors", "use nn.utils.rnn.pad_sequence and a mask")

nested_tensor = absent_function("nested.nested_tensor", *_WHY)
as_nested_tensor = absent_function("nested.as_nested_tensor", *_WHY)
nested_tensor_from_jagged = absent_function("nested.nested_tensor_from_jagged", *_WHY)
to_padded_tensor = absent_function("nested.to_padded_tensor", *_WHY)

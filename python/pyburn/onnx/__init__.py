"""torch.onnx: exporting raises for now; it can be imported."""

from pyburn._absent import absent_function

_WHY = ("pyburn does not write ONNX files yet", "save model.state_dict(), load it in torch and export there")

export = absent_function("onnx.export", *_WHY)
dynamo_export = absent_function("onnx.dynamo_export", *_WHY)


def is_in_onnx_export() -> bool:
    """False: nothing is being exported.

    Example:
        >>> is_in_onnx_export()
        False
    """
    return False

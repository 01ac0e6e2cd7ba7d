"""TensorFlow's record files and the few protocol-buffer messages of an event file."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

__all__ = ["event", "histogram_value", "image_value", "record", "scalar_value", "tensor_text_value"]


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> int:
    """CRC-32C with TensorFlow's mask: CRCs of data that hold CRCs would otherwise be weak."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """A record: its length and the length's checksum, the data and its checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", _masked_crc(length)) + data + struct.pack("<I", _masked_crc(data))


def _varint(value: int) -> bytes:
    parts = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())


def _doubles(field: int, values: Sequence[float]) -> bytes:
    return _bytes(field, struct.pack(f"<{len(values)}d", *values))


def event(
    wall_time: float,
    step: int | None,
    *,
    version: str | None = None,
    graph: bytes | None = None,
    values: Sequence[bytes] = (),
    restart: bool = False,
) -> bytes:
    """An Event: a time, a step, and the file's version, a graph, values, or the word that a run restarts."""
    data = _double(1, wall_time)
    if step is not None:
        data += _number(2, step)
    if version is not None:
        data += _text(3, version)
    if graph is not None:
        data += _bytes(4, graph)
    if values:
        data += _bytes(5, b"".join(_bytes(1, value) for value in values))
    if restart:  # a SessionLog: what an earlier file says of this step and those after it no longer counts
        data += _bytes(7, _number(1, 1))
    return data


def _plugin(name: str, content: bytes = b"") -> bytes:
    """The SummaryMetadata that says which of TensorBoard's pages shows a value."""
    return _bytes(9, _bytes(1, _text(1, name) + (_bytes(2, content) if content else b"")))


def scalar_value(tag: str, number: float) -> bytes:
    """A Summary.Value of one number."""
    return _text(1, tag) + _float(2, number)


def image_value(tag: str, height: int, width: int, channels: int, png: bytes) -> bytes:
    """A Summary.Value of a picture."""
    return _text(1, tag) + _bytes(4, _number(1, height) + _number(2, width) + _number(3, channels) + _bytes(4, png))


def histogram_value(
    tag: str, facts: tuple[float, float, float, float, float], limits: Sequence[float], counts: Sequence[float]
) -> bytes:
    """A Summary.Value of a histogram; `facts` are its minimum, maximum, count, sum and sum of squares."""
    data = b"".join(_double(field, value) for field, value in enumerate(facts, 1))
    return _text(1, tag) + _bytes(5, data + _doubles(6, limits) + _doubles(7, counts))


def tensor_text_value(tag: str, text: str) -> bytes:
    """A Summary.Value of text, which TensorBoard keeps as a tensor of one string."""
    shape = _bytes(2, _bytes(2, _number(1, 1)))
    return _text(1, tag) + _bytes(8, _number(1, 7) + shape + _bytes(8, text.encode())) + _plugin("text")


def curve_value(tag: str, num_thresholds: int, rows: Sequence[Sequence[float]]) -> bytes:
    """A Summary.Value of a curve of precision over recall, which TensorBoard keeps as a tensor of six rows."""
    sizes = b"".join(_bytes(2, _number(1, size)) for size in (len(rows), len(rows[0])))
    flat = [value for row in rows for value in row]
    tensor = _number(1, 1) + _bytes(2, sizes) + _bytes(5, struct.pack(f"<{len(flat)}f", *flat))
    return _text(1, tag) + _bytes(8, tensor) + _plugin("pr_curves", _number(2, num_thresholds))


def graph(nodes: Sequence[tuple[str, str, Sequence[str], Sequence[tuple[int, ...]]]]) -> bytes:
    """A GraphDef of nodes: the name, the kind, the names of the nodes before it, and the shapes that it gives."""
    parts = []
    for name, kind, inputs, shapes in nodes:
        data = _text(1, name) + _text(2, kind) + b"".join(_text(3, each) for each in inputs)
        if shapes:
            sizes = [b"".join(_bytes(2, _number(1, size)) for size in shape) for shape in shapes]
            listed = _bytes(1, b"".join(_bytes(7, size) for size in sizes))
            data += _bytes(5, _text(1, "_output_shapes") + _bytes(2, listed))
        parts.append(_bytes(1, data))
    return b"".join(parts) + _bytes(4, _number(1, 22))


def hparams_value(tag: str, content: bytes) -> bytes:
    """A Summary.Value that carries a message of the hparams page and no data."""
    return _text(1, tag) + _plugin("hparams", content)


def hparams_experiment(parameters: Mapping[str, object], metrics: Sequence[str], now: float) -> bytes:
    """The message that lists the hyperparameters and the metrics of an experiment."""
    infos = b"".join(_bytes(4, _text(1, name) + _number(4, _kind(value))) for name, value in parameters.items())
    names = b"".join(_bytes(5, _bytes(1, _text(2, metric))) for metric in metrics)
    return _number(1, 0) + _bytes(2, infos + names + _double(3, now))


def hparams_session_start(parameters: Mapping[str, object], now: float) -> bytes:
    """The message that a run with these hyperparameters begins."""
    entries = b"".join(_bytes(1, _text(1, name) + _bytes(2, _value(value))) for name, value in parameters.items())
    return _number(1, 0) + _bytes(3, entries + _double(5, now))


def hparams_session_end(now: float) -> bytes:
    """The message that a run ended well."""
    return _number(1, 0) + _bytes(4, _number(1, 1) + _double(2, now))


def _kind(value: object) -> int:
    return 2 if isinstance(value, bool) else 3 if isinstance(value, int | float) else 1


def _value(value: object) -> bytes:
    """A google.protobuf.Value."""
    if isinstance(value, bool):
        return _number(4, int(value))
    return _double(2, float(value)) if isinstance(value, int | float) else _text(3, str(value))

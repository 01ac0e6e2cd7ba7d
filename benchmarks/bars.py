"""The rows of the table "faster than PyTorch on the CPU": groups of setup and statement, each with its bar.

A row is written as for `timeit`: the setup runs once and sees the library as `lib`, its `nn.functional` as `F`; the
statement is timed. A bar is the largest ratio of pyburn's time to torch's that the group is meant to have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import shapes

MATRIX = "x = lib.randn(1000, 1000)"
RESNET_SHAPES = (
    "shapes = [(64, 3, 7, 7), (64,), (64,)]\n"
    "for c, d in ((64, 64), (64, 128), (128, 256), (256, 512)):\n"
    "    shapes += [(d, c, 3, 3), (d, d, 3, 3), (d, d, 3, 3), (d, d, 3, 3)] + [(d,)] * 8\n"
    "shapes += [(128, 64, 1, 1), (256, 128, 1, 1), (512, 256, 1, 1), (1000, 512), (1000,)]\n"
    "ps = [lib.nn.Parameter(lib.randn(*s)) for s in shapes]\n"
    "for p in ps: p.grad = lib.randn(*p.shape)\n"
)
CLASSES = "x = lib.randn(1000, 1000, requires_grad=True); t = lib.arange(1000)"
RECURRENT = "x = lib.randn(100, 32, 128)\ndef step(m):\n    m(x)[0].sum().backward(); m.zero_grad()"
QKV = "q, k, v = (lib.randn(1, 8, {0}, 64, requires_grad=True) for _ in 'qkv')"
ATTEND = "F.scaled_dot_product_attention(q, k, v, is_causal={0})"


@dataclass(frozen=True)
class Row:
    """What is timed, and how it is prepared."""

    setup: str
    statement: str

    def prepare(self, lib: Any) -> Callable[[], object]:
        """The statement as a function, after its setup."""
        scope: dict[str, Any] = {"lib": lib, "F": lib.nn.functional}
        exec(self.setup, scope)
        body = "".join(f"    {line}\n" for line in self.statement.split("\n"))
        exec(f"def statement():\n{body}", scope)
        statement: Callable[[], object] = scope["statement"]
        return statement


@dataclass(frozen=True)
class Group:
    """Rows that share a bar."""

    bar: float
    rows: dict[str, Row]


def _each(setup: str, statements: dict[str, str]) -> dict[str, Row]:
    return {name: Row(setup, statement) for name, statement in statements.items()}


def _calls(setup: str, *names: str) -> dict[str, Row]:
    return {name: Row(setup, f"lib.{name}(x)") for name in names}


def _functional(setup: str, *names: str) -> dict[str, Row]:
    return {name: Row(setup, f"F.{name}(x)") for name in names}


def _steps(setup: str, *names: str) -> dict[str, Row]:
    setup = setup.replace("1000)", "1000, requires_grad=True)") + "; g = lib.ones(1000, 1000)"
    return {f"{name} backward": Row(setup, f"F.{name}(x).backward(g); x.grad = None") for name in names}


def _matmul(size: int) -> dict[str, Row]:
    setup = f"a, b = lib.randn({size}, {size}), lib.randn({size}, {size})"
    return {f"matmul {size}": Row(setup, "a @ b"), f"matmul {size} A Bt": Row(setup, "a @ b.t()")}


LAYOUTS = {
    "add": ("x + y", "x + c", "x + r"),
    "mul": ("x * y", "x * c", "x * r"),
    "relu": ("x.relu()", "c.relu()", "e.relu()"),
    "exp": ("x.exp()", "c.exp()", "e.exp()"),
    "tanh": ("x.tanh()", "c.tanh()", "e.tanh()"),
    "gelu": ("F.gelu(x)", "F.gelu(c)", "F.gelu(e)"),
    "sigmoid": ("x.sigmoid()", "c.sigmoid()", "e.sigmoid()"),
    "where": ("lib.where(m, x, y)", "lib.where(m, x, c)", "lib.where(m, x, r)"),
    "cast": ("x.to(lib.float64)", "c.to(lib.float64)", "e.to(lib.float64)"),
}


def _layouts(size: int, suffix: str) -> dict[str, Row]:
    """Each op on matrices as they lie, transposed and broadcast from one row."""
    setup = (
        f"x, y = lib.randn({size}, {size}), lib.randn({size}, {size})\n"
        f"m, c, r = x > 0, y.t(), y[0]; e = r.expand({size}, {size})"
    )
    return {
        f"{name}{suffix}{layout}": Row(setup, statement)
        for name, statements in LAYOUTS.items()
        for layout, statement in zip(("", " transposed", " broadcast"), statements, strict=True)
    }


def _half_products() -> dict[str, Row]:
    setup = "w, x = lib.randn(1024, 1024).bfloat16(), lib.randn({rows}, 1024).bfloat16()"
    return {f"linear {rows}x1024 bfloat16": Row(setup.format(rows=rows), "F.linear(x, w)") for rows in (1, 128)}


def _conv(name: str, x: str, w: str, options: str) -> dict[str, Row]:
    setup = f"x, w = lib.randn({x}, requires_grad=True), lib.randn({w}, requires_grad=True)"
    call = f"F.conv2d(x, w, {options})"
    return {
        f"conv {name}": Row(setup + "\nx, w = x.detach(), w.detach()", call),
        f"conv {name} backward": Row(
            f"{setup}\ng = lib.ones_like({call})", f"{call}.backward(g); x.grad = w.grad = None"
        ),
    }


def _convolutions() -> dict[str, Row]:
    rows = _conv("mnist 1-32 3x3 b64", "64, 1, 28, 28", "32, 1, 3, 3", "padding=1")
    rows |= _conv("mnist 32-64 3x3 b64", "64, 32, 14, 14", "64, 32, 3, 3", "padding=1")
    for model in ("resnet18", "mobilenet_v2"):
        for batch in (1, 8):
            for c in getattr(shapes, model)():
                rows |= _conv(
                    f"{model.split('_')[0]} {c.name} b{batch}",
                    f"{batch}, {c.entering}, {c.size}, {c.size}",
                    f"{c.leaving}, {c.entering // c.groups}, {c.kernel}, {c.kernel}",
                    f"stride={c.stride}, padding={c.kernel // 2}, groups={c.groups}",
                )
    return rows


def _attention(tokens: int, causal: bool, dropout: float = 0.0) -> dict[str, Row]:
    name, setup, call = f"attention {tokens}{' causal' * causal}", QKV.format(tokens), ATTEND.format(causal)
    if dropout > 0.0:
        name, call = f"{name} dropout", f"{call[:-1]}, dropout_p={dropout})"
    backward = f"{call}.sum().backward(); q.grad = k.grad = v.grad = None"
    return {
        name: Row(setup.replace(", requires_grad=True", ""), call),
        f"{name} backward": Row(setup, backward),
    }


def _optimizer(name: str, options: str = "lr=1e-3") -> dict[str, Row]:
    return {f"{name} {options}": Row(RESNET_SHAPES + f"o = lib.optim.{name}(ps, {options}); o.step()", "o.step()")}


TRAINED = {
    "MNIST CNN b64": ("mnist_cnn", "x, t = lib.randn(64, 1, 28, 28), lib.arange(64) % 10", "m(x)"),
    "ResNet-18 b8 64x64": ("resnet18", "x, t = lib.randn(8, 3, 64, 64), lib.arange(8)", "m(x)"),
    "GPT b8": ("gpt", "x = lib.randint(0, 1000, (8, 128)); t = lib.randint(0, 1000, (1024,))", "m(x).flatten(0, 1)"),
    "LSTM LM b20": ("lstm_lm", "x = lib.randint(0, 1000, (35, 20)); t = x.flatten()", "m(x).flatten(0, 1)"),
    "GCN 20k edges": (
        "gcn",
        "x, t = lib.randn(3000, 64), lib.arange(3000) % 7\ne, w = lib.randint(0, 3000, (2, 20000)), lib.rand(20000, 1)",
        "m(x, e, w)",
    ),
    "EEGNet b32": ("eegnet", "x, t = lib.randn(32, 1, 64, 256), lib.arange(32) % 4", "m(x)"),
}


def _training() -> dict[str, Row]:
    return {
        name: Row(
            f"import models\nm = models.{model}(lib); o = lib.optim.Adam(m.parameters())\n{data}",
            f"o.zero_grad(); F.cross_entropy({call}, t).backward(); o.step()",
        )
        for name, (model, data, call) in TRAINED.items()
    }


def _inference() -> dict[str, Row]:
    image = "import models\nm = models.{0}(lib).eval(); x = lib.randn(1, 3, 224, 224)"
    past = (
        "import models\nm = models.gpt(lib).eval(); x = lib.arange(1).view(1, 1)\n"
        "past = [(lib.randn(1, 8, 128, 32), lib.randn(1, 8, 128, 32)) for _ in range(4)]"
    )
    return {
        "ResNet-18 b1 224x224": Row(image.format("resnet18"), "with lib.no_grad(): m(x)"),
        "MobileNetV2 b1 224x224": Row(image.format("mobilenet_v2"), "with lib.no_grad(): m(x)"),
        "GPT one token with cache": Row(past, "with lib.no_grad(): m(x, past)"),
    }


ACTIVATIONS = ("gelu", "silu", "softplus", "mish", "elu", "leaky_relu", "hardswish", "logsigmoid", "relu", "sigmoid")
NORMS = {
    "layer_norm": ("x = lib.randn(1000, 1000)", "1000", "F.layer_norm(x, (1000,), w, b)"),
    "batch_norm": ("x = lib.randn(16, 64, 32, 32)", "64", "F.batch_norm(x, None, None, w, b, True)"),
    "group_norm": ("x = lib.randn(16, 64, 32, 32)", "64", "F.group_norm(x, 8, w, b)"),
    "rms_norm": ("x = lib.randn(1000, 1000)", "1000", "F.rms_norm(x, (1000,), w)"),
}


def _norms() -> dict[str, Row]:
    rows = {}
    for name, (setup, size, call) in NORMS.items():
        parameters = f"\nw, b = lib.ones({size}), lib.zeros({size})"
        rows[name] = Row(setup + parameters, call)
        wanted = "\nfor p in (x, w, b): p.requires_grad_()\ng = lib.ones_like(x)"
        rows[f"{name} backward"] = Row(
            setup + parameters + wanted, f"{call}.backward(g); x.grad = w.grad = b.grad = None"
        )
    return rows


GROUPS: dict[str, Group] = {
    "tiny": Group(
        0.35,
        _each(
            "a, b = lib.ones(4, 4), lib.ones(4, 4)",
            {"add 4x4": "a + b", "mul 4x4": "a * b", "mul 4x4 by a number": "a * 2.0"},
        ),
    ),
    "tiny with gradients": Group(
        0.5,
        _each(
            "a, b = lib.ones(4, 4, requires_grad=True), lib.ones(4, 4)",
            {"add 4x4 with gradient": "a + b", "mul 4x4 with gradient": "a * b"},
        ),
    ),
    "small": Group(
        0.5,
        {
            "Linear(8, 8) call": Row("m, x = lib.nn.Linear(8, 8), lib.randn(1, 8)", "m(x)"),
            "MLP step, batch 1": Row(
                "n = lib.nn\nm = n.Sequential(n.Linear(8, 32), n.ReLU(), n.Linear(32, 32), n.ReLU(), n.Linear(32, 2))\n"
                "x = lib.randn(1, 8)",
                "m(x).sum().backward(); m.zero_grad()",
            ),
            "embedding call": Row("w, i = lib.randn(1000, 64), lib.arange(32)", "F.embedding(i, w)"),
        },
    ),
    "elementwise": Group(
        1.0,
        _layouts(1000, "")
        | {"compare": Row("x, y = lib.randn(1000, 1000), lib.randn(1000, 1000)", "x > y")}
        | _calls(MATRIX, "sin", "cos", "erf", "expm1", "atan", "sqrt", "rsqrt")
        | _calls(MATRIX + ".abs() + 0.1", "log", "log2", "log1p", "log10")
        | {"pow 2.5": Row(MATRIX + ".abs()", "x ** 2.5")}
        | _functional(MATRIX, *(name for name in ACTIVATIONS if name not in LAYOUTS))
        | _steps(MATRIX, *ACTIVATIONS)
        | _layouts(4000, " 16M"),
    ),
    "reductions": Group(
        1.0,
        _each(
            MATRIX,
            {
                f"{name} {dim}": f"lib.{name}(x, {dim})"
                for name in ("sum", "mean", "amax", "max", "var")
                for dim in (0, 1)
            },
        )
        | _each(
            MATRIX.replace("1000)", "1000, requires_grad=True)") + "; g = lib.ones(1000)",
            {
                f"{name} {dim} backward": f"{call.format(dim)}.backward(g); x.grad = None"
                for name, call in {"sum": "x.sum({})", "mean": "x.mean({})", "max": "x.max({})[0]"}.items()
                for dim in (0, 1)
            },
        )
        | _each(
            MATRIX + "; v = x.flatten()",
            {f"{name} {dim}": f"lib.{name}(x, {dim})" for name in ("prod", "cumsum") for dim in (0, 1)}
            | {"prod": "x.prod()", "dot": "v @ v"},
        )
        | _each(
            "p = lib.randn(100, 16, 30).log_softmax(2).requires_grad_(); t = lib.randint(1, 30, (16, 20))\n"
            "n, s = lib.full((16,), 100), lib.full((16,), 20); x = lib.randn(512, 256, requires_grad=True)\n"
            "m, g = lib.nn.BatchNorm1d(256), lib.ones(512, 256)",
            {
                "ctc_loss": "F.ctc_loss(p.detach(), t, n, s)",
                "ctc_loss backward": "F.ctc_loss(p, t, n, s).backward(); p.grad = None",
                "BatchNorm1d backward": "m(x).backward(g); x.grad = None",
            },
        )
        | _each(MATRIX, {"softmax": "x.softmax(1)", "softmax 0": "x.softmax(0)", "log_softmax": "x.log_softmax(1)"})
        | _each(
            CLASSES + "; g = lib.ones(1000, 1000)",
            {
                "softmax backward": "x.softmax(1).backward(g); x.grad = None",
                "log_softmax backward": "x.log_softmax(1).backward(g); x.grad = None",
                "cross_entropy": "F.cross_entropy(x.detach(), t)",
                "cross_entropy backward": "F.cross_entropy(x, t).backward(); x.grad = None",
            },
        )
        | _norms(),
    ),
    "products": Group(
        1.1,
        _matmul(64)
        | _matmul(128)
        | _matmul(256)
        | _matmul(512)
        | _matmul(1024)
        | _matmul(2048)
        | {
            "bmm 32x128": Row("a, b = lib.randn(32, 128, 128), lib.randn(32, 128, 128)", "a @ b"),
            "linear 512": Row("x, m = lib.randn(128, 512), lib.nn.Linear(512, 512)", "m(x)"),
        }
        | _half_products(),
    ),
    "convolutions": Group(1.2, _convolutions()),
    "moving": Group(
        1.0,
        _each(
            "x, i = lib.randn(1000, 1000), lib.randint(0, 1000, (1000,))\n"
            "p, w, g = lib.randn(8, 16, 64, 64), lib.randn(1000, 64), lib.rand(8, 64, 64, 2) * 2 - 1\n"
            "j = lib.randint(0, 1000, (1000, 1000))\n"
            "q = lib.randint(0, 256, (1, 3, 500, 500), dtype=lib.uint8)",
            {
                "max_pool2d": "F.max_pool2d(p, 2)",
                "avg_pool2d": "F.avg_pool2d(p, 2)",
                "interpolate": "F.interpolate(p, scale_factor=2, mode='bilinear')",
                "resize bytes": "F.interpolate(q, size=(224, 224), mode='bilinear', antialias=True)",
                "grid_sample": "F.grid_sample(p, g, align_corners=False)",
                "embedding 1000": "F.embedding(i, w)",
                "index_add": "lib.zeros(1000, 1000).index_add_(0, i, x)",
                "scatter_add": "lib.zeros(1000, 1000).scatter_add_(0, j, x)",
                "scatter_add rows": "lib.zeros(1000, 1000).scatter_add_(0, i.view(-1, 1).expand(-1, 1000), x)",
                "gather": "x.gather(1, j)",
                "sort": "x.sort()",
                "topk": "x.topk(10)",
                "cat": "lib.cat([x, x], 1)",
                "unique": "j.unique()",
                "fft columns": "lib.fft.fft(x, dim=0)",
                "rfft": "lib.fft.rfft(x)",
                "fft": "lib.fft.fft(x)",
                "flip": "x.flip(1)",
                "tril": "x.tril()",
            },
        ),
    ),
    "attention": Group(
        1.0,
        _attention(128, False)
        | _attention(128, True)
        | _attention(512, False)
        | _attention(512, True)
        | _attention(1024, False)
        | _attention(1024, True)
        | _attention(2048, False)
        | _attention(2048, True)
        | _attention(1024, False, 0.1)
        | _attention(2048, False, 0.1),
    ),
    "recurrent": Group(
        1.0,
        {
            f"{name}{' backward' * back}": Row(
                f"{RECURRENT}\nm = lib.nn.{name}(128, 128)", "step(m)" if back else "with lib.no_grad(): m(x)"
            )
            for name in ("LSTM", "GRU")
            for back in (False, True)
        },
    ),
    "optimizers": Group(
        0.8,
        _optimizer("Adam")
        | _optimizer("AdamW")
        | _optimizer("SGD")
        | _optimizer("SGD", "lr=1e-3, momentum=0.9")
        | _optimizer("RMSprop")
        | _optimizer("Adagrad")
        | _optimizer("Adamax")
        | _optimizer("Adadelta")
        | _optimizer("NAdam")
        | _optimizer("ASGD")
        | {"clip_grad_norm_": Row(RESNET_SHAPES, "lib.nn.utils.clip_grad_norm_(ps, 1e9)")},
    ),
    "training": Group(1.0, _training()),
    "inference": Group(1.0, _inference()),
}

ROWS: dict[str, Row] = {name: row for group in GROUPS.values() for name, row in group.rows.items()}


def _scaled(setup: str, statement: str, *sizes: int) -> tuple[Row, ...]:
    return tuple(Row(setup.replace("SIZE", str(size)), statement) for size in sizes)


# Each at 1x, 4x and 16x of its work: no row may grow faster than torch's.
SCALES: dict[str, tuple[Row, ...]] = {
    "add": _scaled("x, y = lib.randn(SIZE), lib.randn(SIZE)", "x + y", 1 << 18, 1 << 20, 1 << 22),
    "tanh": _scaled("x = lib.randn(SIZE)", "x.tanh()", 1 << 18, 1 << 20, 1 << 22),
    "sum of columns": _scaled("x = lib.randn(SIZE, 1000)", "x.sum(0)", 250, 1000, 4000),
    "softmax": _scaled("x = lib.randn(SIZE, 1000)", "x.softmax(1)", 250, 1000, 4000),
    "layer_norm": _scaled("x = lib.randn(SIZE, 1000)", "F.layer_norm(x, (1000,))", 250, 1000, 4000),
    "matmul": _scaled("a, b = lib.randn(SIZE, 512), lib.randn(512, 512)", "a @ b", 128, 512, 2048),
    "conv2d": _scaled(
        "x, w = lib.randn(SIZE, 64, 28, 28), lib.randn(64, 64, 3, 3)", "F.conv2d(x, w, padding=1)", 1, 4, 16
    ),
    "attention": _scaled(QKV.format("SIZE"), ATTEND.format(False), 256, 512, 1024),
    "LSTM": _scaled("m, x = lib.nn.LSTM(128, 128), lib.randn(SIZE, 32, 128)", "m(x)", 25, 100, 400),
    "gather": _scaled(
        "x, j = lib.randn(SIZE, 1000), lib.randint(0, 1000, (SIZE, 1000))", "x.gather(1, j)", 250, 1000, 4000
    ),
    "index_add": _scaled(
        "z, x = lib.zeros(3000, 64), lib.randn(SIZE, 64); i = lib.randint(0, 3000, (SIZE,))",
        "z.index_add(0, i, x)",
        5000,
        20000,
        80000,
    ),
    "sort": _scaled("x = lib.randn(SIZE)", "x.sort()", 1 << 16, 1 << 18, 1 << 20),
    "chain of tiny ops": _scaled(
        "w = lib.ones(4, 4, requires_grad=True)\n"
        "def chain():\n    y = w\n    for _ in range(SIZE): y = y * w\n    y.sum().backward(); w.grad = None",
        "chain()",
        100,
        400,
        1600,
    ),
}

# What the smallest scale of a row reads and writes, or multiplies and adds, where that is plain; the largest 16 times.
AMOUNTS: dict[str, tuple[float, str]] = {
    "add": (12 * 2**18, "GB/s"),
    "tanh": (8 * 2**18, "GB/s"),
    "sum of columns": (4 * 250e3, "GB/s"),
    "softmax": (8 * 250e3, "GB/s"),
    "layer_norm": (8 * 250e3, "GB/s"),
    "matmul": (2 * 128 * 512**2, "GFLOP/s"),
    "conv2d": (2 * 64**2 * 9 * 28**2, "GFLOP/s"),
    "attention": (4 * 8 * 256**2 * 64, "GFLOP/s"),
    "LSTM": (2 * 25 * 32 * 256 * 512, "GFLOP/s"),
    "gather": (16 * 250e3, "GB/s"),
}

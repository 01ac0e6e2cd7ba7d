"""Records docs/first_session.md: what a newcomer types and sees, from the wheel in an empty environment.

`python tools/first_session.py dist/pyburn-*.whl` makes a folder and a virtual environment that know nothing of this
repository, types the commands below there, fails at the first that fails, and writes commands and answers to the page.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "first_session.md"

HEAD = """# A first session

Recorded by `tools/first_session.py` from the wheel that `make wheel` built, in an empty folder and a virtual
environment without any other package; nothing of the repository is within reach. scikit-learn brings the data.
"""

TRAIN = """
import pyburn
from pyburn import nn, train
from sklearn.datasets import load_digits

digits = load_digits()
images = pyburn.tensor(digits.images / 16).float().unsqueeze(1)
classes = pyburn.tensor(digits.target)
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10))
learner = train.Learner(model, nn.CrossEntropyLoss(), "adamw", lr=3e-3, metrics=["accuracy"], folder="runs/digits")
learner.fit((images[:1400], classes[:1400]), (images[1400:], classes[1400:]), epochs=5)
learner.save("digits.safetensors")
"""

PREDICT = """
import pyburn
from pyburn import nn
from sklearn.datasets import load_digits

model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10))
model.load_state_dict(pyburn.safetensors.load_file("digits.safetensors"))
digits = load_digits()
images = pyburn.tensor(digits.images[-10:] / 16).float().unsqueeze(1)
with pyburn.no_grad():
    print("predicted", model(images).argmax(1).tolist())
print("true     ", digits.target[-10:].tolist())
"""

KERAS = """
from pyburn.keras import Dense, Input, Sequential
from sklearn.datasets import load_iris

x, y = load_iris(return_X_y=True)
model = Sequential([Input(shape=(4,)), Dense(16, activation="relu"), Dense(3, activation="softmax")])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=60, verbose=0)
print("accuracy", round(history.history["accuracy"][-1], 2))
model.save("iris.keras")
"""

VISION = """
import p_vision
import pyburn

model = p_vision.googlenet(backend="NdArray", num_classes=10).eval()
print(model(pyburn.rand(2, 3, 96, 96)).shape, model.fc)
"""

TORCH = """
import torch
import torch.nn.functional as F

torch.manual_seed(0)
layer = torch.nn.Linear(3, 2)
loss = F.mse_loss(layer(torch.ones(4, 3)), torch.zeros(4, 2))
loss.backward()
torch.save(layer.state_dict(), "layer.pt")
print(f"{loss.item():.6f}", torch.load("layer.pt")["bias"])
"""

FILES = {"train.py": TRAIN, "predict.py": PREDICT, "iris.py": KERAS, "look.py": VISION, "plain_torch.py": TORCH}

STEPS = (
    ("Install", ("python3 -m venv venv", "venv/bin/pip install --quiet {wheel}", "venv/bin/pip list", "du -sh venv")),
    ("Train a network", ("venv/bin/pip install --quiet scikit-learn", "venv/bin/python train.py", "ls runs/digits")),
    ("Load it in another process", ("venv/bin/python predict.py",)),
    ("Keras's way", ("venv/bin/python iris.py",)),
    ("Vision", ("venv/bin/python look.py",)),
    ("A PyTorch program, unchanged", ("venv/bin/python -m pyburn run plain_torch.py",)),
)
"""Titles and what is typed under each; a file that a command runs is shown before it."""


def answer(command: str, folder: Path) -> str:
    """What the command prints in the folder, as a newcomer's terminal without colours shows it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYBURN", "VIRTUAL"))}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=env | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    text = done.stdout.replace(str(folder.resolve()), "~").replace(str(folder), "~").replace(platform.node(), "host")
    if done.returncode:
        raise SystemExit(f"$ {command}\n{text}\nexit {done.returncode}")
    return re.sub(r"[^\n]*\r", "", text).rstrip()


def main(wheel: Path) -> None:
    """Types everything and writes the page."""
    parts = [HEAD]
    with tempfile.TemporaryDirectory(prefix="newcomer_") as name:
        folder = Path(name)
        shutil.copy(wheel, folder)
        for title, commands in STEPS:
            terminal = []
            parts.append(f"## {title}\n")
            for typed in commands:
                command = typed.format(wheel=wheel.name)
                for file, text in FILES.items():
                    if file in command:
                        (folder / file).write_text(text.lstrip())
                        parts.append(f"`{file}`:\n\n```text\n{text.strip()}\n```\n")
                print("$", command, flush=True)
                terminal.append(f"$ {command}\n{answer(command, folder)}".rstrip())
            parts.append("\n".join(["```text", *terminal, "```\n"]))
    PAGE.write_text("\n".join(parts).rstrip() + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

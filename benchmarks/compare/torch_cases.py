# SPDX-License-Identifier: Apache-2.0
"""Models of torch_models.py, with random weights and sizes as people use them.

Each function returns a model and its keyword arguments, for a batch and a length
where it has one.
"""

import importlib

import torch


def transformers():
    module = importlib.import_module("transformers")
    module.logging.set_verbosity_error()
    return module


def tokens(vocabulary, batch, length):
    return torch.randint(0, vocabulary, (batch, length))


def image(batch):
    return torch.randn(batch, 3, 224, 224)


def of_text(model, config, batch, length, **settings):
    """A model of transformers, by the names of its classes."""
    t = transformers()
    return getattr(t, model)(getattr(t, config)(**settings)), dict(
        input_ids=tokens(30000, batch, length))


def bert(batch=1, length=128):
    return of_text("BertModel", "BertConfig", batch, length)


def minilm(batch=1, length=128):
    return of_text("BertModel", "BertConfig", batch, length, hidden_size=384,
                   num_hidden_layers=6, intermediate_size=1536)


def distilbert(batch=1, length=128):
    return of_text("DistilBertModel", "DistilBertConfig", batch, length)


def gpt2(batch=1, length=128):
    return of_text("GPT2LMHeadModel", "GPT2Config", batch, length,
                   use_cache=False)


def llama(batch=1, length=128):
    return of_text("LlamaForCausalLM", "LlamaConfig", batch, length,
                   hidden_size=768, intermediate_size=2048, num_hidden_layers=8,
                   num_attention_heads=12, num_key_value_heads=4,
                   vocab_size=32000, use_cache=False)


def t5(batch=1, length=64):
    model, inputs = of_text("T5Model", "T5Config", batch, length,
                            use_cache=False)
    return model, dict(inputs, decoder_input_ids=tokens(30000, batch, length))


def of_images(model, config, batch):
    t = transformers()
    return getattr(t, model)(getattr(t, config)()), dict(
        pixel_values=image(batch))


def vit(batch=1):
    return of_images("ViTModel", "ViTConfig", batch)


def convnext(batch=1):
    return of_images("ConvNextModel", "ConvNextConfig", batch)


def timm(name, batch):
    return importlib.import_module("timm").create_model(name), dict(
        x=image(batch))


def resnet50(batch=1):
    return timm("resnet50", batch)


def resnet18(batch=1):
    return timm("resnet18", batch)


def mobilenetv3(batch=1):
    return timm("mobilenetv3_large_100", batch)


def efficientnet(batch=1):
    return timm("efficientnet_b0", batch)


class Recurrent(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers = kind(256, 256, 2, batch_first=True)

    def forward(self, x):
        return self.layers(x)[0]


def lstm(batch=4, length=64):
    return Recurrent(torch.nn.LSTM), dict(x=torch.randn(batch, length, 256))


def gru(batch=4, length=64):
    return Recurrent(torch.nn.GRU), dict(x=torch.randn(batch, length, 256))


def mlp(batch=16):
    layers = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU())
              for _ in range(4)]
    return torch.nn.Sequential(*layers), dict(input=torch.randn(batch, 256))


INFERENCE = {f.__name__: f for f in (
    bert, minilm, distilbert, gpt2, llama, t5, vit, convnext, resnet50,
    resnet18, mobilenetv3, efficientnet, lstm, gru, mlp)}

#: Batches large enough that the step of the optimiser is not most of the time.
TRAINING = {
    "bert": lambda: bert(4, 64), "minilm": lambda: minilm(8, 64),
    "gpt2": lambda: gpt2(2, 64), "llama": lambda: llama(2, 64),
    "vit": lambda: vit(2), "resnet50": lambda: resnet50(4),
    "resnet18": lambda: resnet18(4), "mobilenetv3": lambda: mobilenetv3(4),
    "lstm": lambda: lstm(8), "mlp": lambda: mlp(64)}

# SPDX-License-Identifier: Apache-2.0
"""Small models of transformers with random weights: inference at several sizes,
training, and generation token by token."""
import unittest

import torch

import tenon.torch as tenon_torch
from support import BackendTest, compiled, import_torchvision, leaves

import_torchvision()
import transformers  # asks for torchvision

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=64)
TEXT = dict(SMALL, vocab_size=100)
IMAGE = dict(SMALL, image_size=32, patch_size=8)


def bert():
    return transformers.BertModel(transformers.BertConfig(**TEXT))


def gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=100, use_cache=False))


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **TEXT, num_key_value_heads=2, use_cache=False))


def vit():
    return transformers.ViTModel(transformers.ViTConfig(**IMAGE))


def resnet():
    return transformers.ResNetModel(transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]))


def first(output):
    """The largest result of a model."""
    return max(leaves(tuple(output.values())), key=torch.numel)


def words(batch, length):
    return torch.randint(0, 100, (batch, length))


class ModelsTest(BackendTest):
    def setUp(self):
        super().setUp()
        transformers.logging.set_verbosity_error()

    def test_inference(self):
        for make, x in [(bert, words(2, 9)), (gpt2, words(2, 9)),
                        (llama, words(2, 9)), (vit, torch.randn(2, 3, 32, 32)),
                        (resnet, torch.randn(2, 3, 32, 32))]:
            with self.subTest(make.__name__), torch.no_grad():
                self.setUp()
                model = make().eval()
                eager = first(model(x))
                self.assert_same(first(compiled(model)(x)), eager)
                stats = tenon_torch.stats()
                self.assertEqual(stats["leftovers"], {})
                self.assertEqual(stats["regions"], 1)

    def test_any_batch_and_length(self):
        for make in (bert, llama):
            with self.subTest(make.__name__), torch.no_grad():
                self.setUp()
                model = make().eval()
                call = compiled(model, dynamic=True)
                for batch, length in [(2, 9), (3, 12), (5, 7)]:
                    x = words(batch, length)
                    self.assert_same(first(call(x)), first(model(x)))

    def test_training(self):
        for make in (bert, gpt2, vit):
            with self.subTest(make.__name__):
                torch._dynamo.reset()
                x = torch.randn(2, 3, 32, 32) if make is vit else words(2, 9)
                curves = []
                for call in (lambda m: m, compiled):
                    torch.manual_seed(0)
                    model = make().eval()  # no dropout
                    step = torch.optim.SGD(model.parameters(), lr=1e-2)
                    run, curve = call(model), []
                    for _ in range(3):
                        step.zero_grad()
                        loss = first(run(x)).square().mean()
                        loss.backward()
                        step.step()
                        curve.append(loss.item())
                    curves.append(curve)
                torch.testing.assert_close(*map(torch.tensor, curves))

    def test_generation(self):
        model = llama().eval()
        prompt = words(1, 4)
        options = dict(max_new_tokens=6, do_sample=False, use_cache=True)
        wanted = model.generate(prompt, **options)
        model.forward = compiled(model.forward)
        self.assertTrue(torch.equal(model.generate(prompt, **options), wanted))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Models of transformers, timm and torchvision with random weights: of a few
layers, and with all that makes each kind what it is."""
from __future__ import annotations

import dataclasses
from typing import Any, Callable

import torch

from support import import_torchvision

torchvision = import_torchvision()
import timm  # these two ask for torchvision
import transformers

WORDS = 200
SMALL = dict(hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
             intermediate_size=160)
TEXT = dict(SMALL, vocab_size=WORDS, max_position_embeddings=128)
GROUPED = dict(TEXT, num_key_value_heads=2)
IMAGE = dict(SMALL, image_size=64, patch_size=8)
#: Of encoders with decoders.
BOTH = dict(vocab_size=WORDS, d_model=64, encoder_layers=2, decoder_layers=2,
            encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=160, decoder_ffn_dim=160, pad_token_id=0,
            bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)


def words(batch: int, length: int) -> torch.Tensor:
    return torch.randint(3, WORDS, (batch, length))


def text(batch, length):
    return {"input_ids": words(batch, length)}


def padded(batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length - 2:] = 0
    return {**text(batch, length), "attention_mask": mask}


def padded_before(batch, length):
    """Padding where a window also has words: the softmax of the longformer is of
    f32, in which the mask of double is -inf, and a window of padding NaN."""
    x = padded(batch, length)
    return {**x, "attention_mask": x["attention_mask"].flip(1)}


def two_texts(batch, length):
    return {**text(batch, length), "decoder_input_ids": words(batch, length // 2)}


def sound(batch, length):
    return {"input_features": torch.randn(batch, 20, 64),
            "decoder_input_ids": words(batch, length)}


def wave(batch, length):
    return {"input_values": torch.randn(batch, 640 + 16 * length)}


def image(batch, length):
    return {"pixel_values": torch.randn(batch, 3, 64, 64)}


def image_and_text(batch, length):
    return {**image(batch, length), **text(batch, length)}


def picture(batch, length):
    return {"x": torch.randn(batch, 3, 64, 64)}


def bare_picture(batch, length):
    return {"input": torch.randn(batch, 3, 64, 64)}


@dataclasses.dataclass
class Entry:
    make: Callable[[], torch.nn.Module]
    inputs: Callable[[int, int], dict[str, torch.Tensor]]
    #: It speaks: `generate` works, and there is a loss from labels.
    speaks: bool = False


def varied(model: torch.nn.Module, inputs: Callable) -> torch.nn.Module:
    """Without dropout, and as if trained a little. No parameter has one number
    in all places, as biases and scales have at first, and running statistics
    are those of inputs. Else results hardly depend on many layers."""
    norms = [m for m in model.modules()
             if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        for p in model.parameters():
            if p.numel() > 1 and p.min() == p.max():
                p.copy_(torch.where(p.abs() < 1e-2, 0.0, p) +
                        0.1 * torch.randn_like(p))
        for norm in norms:
            norm.momentum = 1.0
        if norms:
            model.train()(**inputs(2, 20))
        for norm in norms:
            norm.momentum = 0.1
    return model


def chooses_experts(model) -> bool:
    """Whether there are ways to compute its experts."""
    return isinstance(model, transformers.PreTrainedModel) and \
        model._can_set_experts_implementation()


def from_config(name: str, inputs: Callable, **values: Any) -> Entry:
    """A class of transformers, with dropout switched off."""
    def make():
        kind = getattr(transformers, name)
        config = kind.config_class(**values)
        parts = [config, *(getattr(config, f"{p}_config", None)
                           for p in ("text", "vision"))]
        for part in filter(None, parts):
            for key, value in vars(part).items():
                if "drop" in key and isinstance(value, float):
                    setattr(part, key, 0.0)
        return varied(kind(config), inputs)

    speaks = "LM" in name or "Generation" in name
    return Entry(make, inputs, speaks and "Masked" not in name)


def from_timm(name: str, **values: Any) -> Entry:
    return Entry(lambda: varied(timm.create_model(
        name, num_classes=10, **values), picture), picture)


def from_torchvision(make: Callable, inputs: Callable, **values: Any) -> Entry:
    return Entry(lambda: varied(make(weights=None, num_classes=10, **values),
                                inputs), inputs)


MODELS = {
    "bert": from_config("BertModel", padded, **TEXT),
    "roberta": from_config("RobertaForMaskedLM", padded, **TEXT),
    "deberta": from_config(
        "DebertaV2Model", padded, **TEXT, relative_attention=True,
        position_buckets=16, pos_att_type=["p2c", "c2p"], share_att_key=True,
        norm_rel_ebd="layer_norm"),
    "gpt2": from_config("GPT2LMHeadModel", padded, n_embd=64, n_layer=3,
                        n_head=4, vocab_size=WORDS, bos_token_id=1,
                        eos_token_id=2, pad_token_id=0),
    "llama": from_config("LlamaForCausalLM", padded, **GROUPED),
    "qwen2": from_config("Qwen2ForCausalLM", padded, **GROUPED),
    "mistral": from_config("MistralForCausalLM", padded, **GROUPED,
                           sliding_window=8),
    "gemma": from_config("GemmaForCausalLM", padded, **GROUPED, head_dim=16),
    "mixtral": from_config("MixtralForCausalLM", text, **GROUPED,
                           num_local_experts=4, num_experts_per_tok=2),
    "gemma3": from_config(
        "Gemma3ForCausalLM", padded, **GROUPED, head_dim=16, pad_token_id=0,
        eos_token_id=2, sliding_window=8, layer_types=[
            "sliding_attention", "full_attention", "sliding_attention"]),
    "bloom": from_config("BloomForCausalLM", padded, vocab_size=WORDS,
                         hidden_size=64, n_layer=2, n_head=4, pad_token_id=0,
                         eos_token_id=2),
    "longformer": from_config("LongformerModel", padded_before, **TEXT,
                              pad_token_id=0, attention_window=8),
    "mamba": from_config("MambaForCausalLM", text, hidden_size=32,
                         num_hidden_layers=2, vocab_size=WORDS, state_size=8),
    "t5": from_config("T5ForConditionalGeneration", two_texts, vocab_size=WORDS,
                      d_model=64, d_kv=16, d_ff=160, num_layers=2, num_heads=4,
                      pad_token_id=0, eos_token_id=2, decoder_start_token_id=1),
    "bart": from_config("BartForConditionalGeneration", two_texts, **BOTH,
                        max_position_embeddings=128),
    "whisper": from_config("WhisperForConditionalGeneration", sound, **BOTH,
                           num_mel_bins=20, max_source_positions=32,
                           max_target_positions=64),
    "wav2vec2": from_config(
        "Wav2Vec2Model", wave, **SMALL, conv_dim=[16, 16, 16],
        conv_kernel=[10, 3, 3], conv_stride=[5, 2, 2], mask_time_prob=0.0,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
        mask_feature_prob=0.0, layerdrop=0.0),
    "vit": from_config("ViTModel", image, **IMAGE),
    "swin": from_config("SwinModel", image, image_size=64, patch_size=4,
                        embed_dim=32, depths=[2, 2], num_heads=[2, 4],
                        window_size=4),
    "clip": from_config(
        "CLIPModel", image_and_text, projection_dim=32,
        text_config=dict(TEXT, projection_dim=32),
        vision_config=dict(IMAGE, projection_dim=32)),
    "segformer": from_config(
        "SegformerForSemanticSegmentation", image,
        hidden_sizes=[16, 32, 48, 64], decoder_hidden_size=32,
        depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4]),
    "resnet18": from_timm("resnet18"),
    "efficientnet": from_timm("efficientnet_b0"),
    "convnext": from_timm("convnext_atto"),
    "mobilenetv3": from_timm("mobilenetv3_small_100"),
    "regnet": from_timm("regnetx_002"),
    "mixer": from_timm("mixer_s32_224", img_size=64),
    "timm_vit": from_timm("vit_tiny_patch16_224", img_size=64, depth=3),
    "resnet50": from_torchvision(torchvision.models.resnet50, picture),
    "mobilenetv2": from_torchvision(torchvision.models.mobilenet_v2, picture),
    "shufflenet": from_torchvision(torchvision.models.shufflenet_v2_x0_5,
                                   picture),
    "segmentation": from_torchvision(
        torchvision.models.segmentation.lraspp_mobilenet_v3_large, bare_picture,
        weights_backbone=None),
    "deeplab": from_torchvision(
        torchvision.models.segmentation.deeplabv3_mobilenet_v3_large, picture,
        weights_backbone=None),
}

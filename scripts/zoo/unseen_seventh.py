"""The seventh set of models of test/bench/UNSEEN.md: architectures of timm, torchvision and
transformers; unseen_seventh_small.py has small networks written after their papers,
unseen_seventh_keras.py those of other libraries. unseen.py writes the former two."""

from zoo import SOURCES, Step, image, model, nn, tokens, torch, transformer, vision

SOURCES.append(__file__)


def open_image(size=224, channels=3):
    return image(size, "batch=1", channels)


# ---- timm, torchvision
model("tinynet_c", open_image(184))(vision("timm", "tinynet_c"))
model("selecsls42b", image(), script=True)(vision("timm", "selecsls42b"))
model("fasternet_t0", open_image())(vision("timm", "fasternet_t0"))
model("efficientvit_m1", image(), script=True)(vision("timm", "efficientvit_m1"))
model("caformer_s18", image(128))(vision("timm", "caformer_s18"))
model("resmlp_12", open_image())(vision("timm", "resmlp_12_224"))
model("efficientformerv2_s0", image(), script=True)(vision("timm", "efficientformerv2_s0"))
model("nextvit_small", image(128))(vision("timm", "nextvit_small"))
model("googlenet", open_image(), script=True)(
    vision("torchvision", "googlenet", aux_logits=False, init_weights=False)
)


# ---- transformers
SIZES = {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}
model("esm_2", tokens(33))(
    transformer(
        "EsmModel",
        "EsmConfig",
        vocab_size=33,
        num_hidden_layers=2,
        position_embedding_type="rotary",
        pad_token_id=1,
        mask_token_id=32,
        **SIZES,
    )
)
model("siglip_vision_3", image(), script=True)(
    transformer(
        "SiglipVisionModel", "SiglipVisionConfig", "pixel_values", num_hidden_layers=3, **SIZES
    )
)
model("yolos_tiny", image(160))(
    transformer(
        "YolosForObjectDetection",
        "YolosConfig",
        "pixel_values",
        "logits",
        num_hidden_layers=4,
        image_size=[160, 160],
        **SIZES,
    )
)
model("clap_audio", {"x": ((1, 1, 1001, 64), None)})(
    transformer(
        "ClapAudioModel",
        "ClapAudioConfig",
        "input_features",
        "pooler_output",
        patch_embeds_hidden_size=48,
        depths=[1, 1, 2, 1],
        num_attention_heads=[2, 4, 8, 16],
    )
)
model("layoutlm_2", tokens())(
    transformer("LayoutLMModel", "LayoutLMConfig", num_hidden_layers=2, vocab_size=1000, **SIZES)
)
model("moonshine_encoder", {"x": ((1, 16000), None)}, script=True)(lambda: Moonshine())


class Moonshine(nn.Module):
    def __init__(self):
        import transformers

        super().__init__()
        settings = transformers.MoonshineConfig(encoder_num_hidden_layers=3)
        self.inner = transformers.MoonshineModel(settings).get_encoder()

    def forward(self, x):
        return self.inner(input_values=x).last_hidden_state


PAST = ((1, 6, 64, 64), None)


@model("phi3_step", {"ids": ((1, 1), 2000), "k0": PAST, "v0": PAST, "k1": PAST, "v1": PAST})
def phi3_step():
    import transformers

    settings = transformers.Phi3Config(
        num_hidden_layers=2, num_key_value_heads=6, vocab_size=2000, pad_token_id=0, **SIZES
    )
    return Step(transformers.Phi3ForCausalLM(settings), "logits")


@model("granite_2", tokens(2000), script=True)
def granite_2():
    import transformers

    settings = transformers.GraniteConfig(
        num_hidden_layers=2,
        num_key_value_heads=2,
        vocab_size=2000,
        embedding_multiplier=12.0,
        residual_multiplier=0.22,
        attention_multiplier=0.015625,
        **SIZES,
    )
    inner = transformers.GraniteModel(settings)

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, ids, mask):
            return self.inner(input_ids=ids, attention_mask=mask, use_cache=False)[0]

    return Whole()

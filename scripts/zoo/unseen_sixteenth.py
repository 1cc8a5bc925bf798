"""The sixteenth set of models of test/bench/UNSEEN.md: architectures of timm, torchvision,
transformers and diffusers (unseen_sixteenth_rest.py has the small ones written after their
papers)."""

import torchvision
from zoo import SOURCES, Called, Step, image, model, nn, vision

SOURCES.append(__file__)

# ---- timm and torchvision
model("flexivit_small", image(192, "batch=1"), script=True, opset=14)(
    vision("timm", "flexivit_small", img_size=192, depth=4)
)


@model("retinanet_r18", {"x": ((3, 192, 256), None)}, script=True, unordered=True, opset=16)
def anchors():
    from torchvision.models.detection import RetinaNet, backbone_utils

    body = backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, returned_layers=[2, 3, 4]
    )
    body.out_channels = 256
    sizes = tuple((x, int(x * 2 ** (1 / 3)), int(x * 2 ** (2 / 3))) for x in (32, 64, 128, 256))
    drawn = torchvision.models.detection.anchor_utils.AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * 4)
    few = {"topk_candidates": 100, "detections_per_img": 50, "score_thresh": 0.0}
    size = {"min_size": 192, "max_size": 256}
    inner = RetinaNet(body, 11, anchor_generator=drawn, **size, **few)

    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner([x])[0]["boxes"]

    return Listed()


# ---- transformers: words, music
CACHE = ((1, 4, "past=160", 64), None)


@model(
    "hunyuan_step",
    {"ids": ((1, 1), 6000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=21,
)
def hunyuan_step():
    import transformers

    settings = transformers.HunYuanDenseV1Config(
        hidden_size=1024,
        intermediate_size=3072,
        num_hidden_layers=2,
        num_attention_heads=16,
        num_key_value_heads=4,
        head_dim=64,
        vocab_size=6000,
    )
    return Step(transformers.HunYuanDenseV1ForCausalLM(settings), "logits")


@model("musicgen_2", {"ids": (("rows=4", 24), 2048), "text": ((1, 32, 512), None)}, opset=18)
def music():
    """MusicGen: four codes of sound for each of 24 steps, given a description."""
    import transformers

    settings = transformers.MusicgenDecoderConfig(
        hidden_size=512,
        ffn_dim=2048,
        num_hidden_layers=2,
        num_attention_heads=8,
        is_decoder=True,
        add_cross_attention=True,
    )
    inner = transformers.MusicgenForCausalLM(settings)
    return Called(inner, ["input_ids", "encoder_hidden_states"], "logits", use_cache=False)


# ---- transformers: images
model("pix2struct_3", {"x": ((1, "patches=160", 770), 32)}, script=True, opset=15)(
    lambda: Patches()
)


class Patches(nn.Module):
    """Pix2Struct's encoder: patches of any number, each with its row and column."""

    def __init__(self):
        super().__init__()
        import transformers

        settings = transformers.Pix2StructVisionConfig(
            hidden_size=512, d_ff=1024, num_attention_heads=8, num_hidden_layers=3, seq_len=256
        )
        settings._attn_implementation = "eager"
        self.inner = transformers.Pix2StructVisionModel(settings)

    def forward(self, x):
        return self.inner(flattened_patches=x.float()).last_hidden_state


@model("conditional_detr_r18", image(256))
def queries():
    import transformers

    settings = transformers.ConditionalDetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=transformers.ResNetConfig(
            layer_type="basic",
            hidden_sizes=[64, 128, 256, 512],
            depths=[2, 2, 2, 2],
            out_features=["stage4"],
        ),
        encoder_layers=2,
        decoder_layers=2,
        encoder_ffn_dim=1024,
        decoder_ffn_dim=1024,
        num_queries=100,
    )
    inner = transformers.ConditionalDetrForObjectDetection(settings)
    return Called(inner, ["pixel_values"], "logits")


# ---- diffusers
@model(
    "wan_2",
    {"x": ((1, 16, 3, 16, 16), None), "t": ((1,), 1000), "text": ((1, 64, 512), None)},
)
def video():
    import diffusers

    inner = diffusers.WanTransformer3DModel(
        num_attention_heads=6,
        attention_head_dim=64,
        text_dim=512,
        ffn_dim=1536,
        num_layers=2,
        rope_max_seq_len=64,
    )
    return Called(inner, ["hidden_states", "timestep", "encoder_hidden_states"], "sample")

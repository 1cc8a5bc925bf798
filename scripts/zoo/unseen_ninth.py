"""The ninth set of models of test/bench/UNSEEN.md: architectures of timm, torchvision, transformers
and diffusers; unseen_ninth_small.py and _rest.py have small networks written after their papers,
unseen_ninth_keras.py those of Keras and scikit-learn, unseen_ninth_quantized.py some of these in 8
bits."""

from zoo import Called, SOURCES, Step, image, model, nn, tokens, transformer, vision

SOURCES.append(__file__)


def open_image(size=224):
    return image(size, "batch=1")


# ---- timm, torchvision
model("ghostnetv2_100", open_image(160))(vision("timm", "ghostnetv2_100"))
model("fbnetv3_b", image(192), script=True)(vision("timm", "fbnetv3_b"))
model("regnetz_b16", image(160))(vision("timm", "regnetz_b16"))
model("densenetblur121d", image(128))(vision("timm", "densenetblur121d"))
model("convnext_zepto_rms", image(160), script=True)(vision("timm", "convnext_zepto_rms"))
model("vit_small_resnet26d", image())(vision("timm", "vit_small_resnet26d_224", depth=4))
model("mobilenet_edgetpu_v2_xs", open_image(), script=True)(
    vision("timm", "mobilenet_edgetpu_v2_xs")
)
model("gmixer_12", image())(vision("timm", "gmixer_12_224"))
model("tf_efficientnet_lite0", image(), script=True)(vision("timm", "tf_efficientnet_lite0"))
model("hieradet_small", image(128))(vision("timm", "hieradet_small"))
model("mnasnet0_5", open_image())(vision("torchvision", "mnasnet0_5"))


class Video(nn.Module):
    """Swin transformer of videos."""

    def __init__(self):
        import torchvision

        super().__init__()
        self.inner = torchvision.models.video.SwinTransformer3d(
            [2, 4, 4], 48, [1, 1, 1, 1], [2, 4, 8, 16], [4, 7, 7]
        )

    def forward(self, x):
        return self.inner(x)


model("swin3d", {"x": ((1, 3, 8, 64, 64), None)})(Video)

# ---- transformers
SIZES = {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}
TWO = {"num_hidden_layers": 2, "vocab_size": 1000}
model("gpt_neo_2", tokens(length=64, mask=False))(
    transformer(
        "GPTNeoModel",
        "GPTNeoConfig",
        "input_ids",
        call="uncached",
        num_layers=2,
        attention_types=[[["global", "local"], 1]],
        num_heads=6,
        hidden_size=384,
        vocab_size=1000,
    )
)
model("stablelm_2", tokens(length=64, mask=False))(
    transformer(
        "StableLmModel",
        "StableLmConfig",
        "input_ids",
        call="uncached",
        num_key_value_heads=6,
        **TWO,
        **SIZES,
    )
)
model("xglm_2", tokens(length=64, mask=False))(
    transformer(
        "XGLMModel",
        "XGLMConfig",
        "input_ids",
        call="uncached",
        num_layers=2,
        attention_heads=6,
        d_model=384,
        ffn_dim=1536,
        vocab_size=1000,
    )
)
model("mamba2_2", tokens(length=64, mask=False))(
    transformer(
        "Mamba2Model",
        "Mamba2Config",
        "input_ids",
        call="uncached",
        hidden_size=256,
        num_heads=8,
        head_dim=64,
        state_size=32,
        n_groups=2,
        chunk_size=32,
        num_hidden_layers=2,
        vocab_size=1000,
    )
)
model("canine_2", tokens(length=128))(
    transformer("CanineModel", "CanineConfig", num_hidden_layers=2, **SIZES)
)
model("big_bird_2", tokens(length=64), script=True)(
    transformer("BigBirdModel", "BigBirdConfig", attention_type="original_full", **TWO, **SIZES)
)
model("xlm_2", tokens(length=64, mask=False))(
    transformer(
        "XLMModel", "XLMConfig", "input_ids", vocab_size=1000, emb_dim=384, n_layers=2, n_heads=6
    )
)
model("lilt_2", tokens(length=64), script=True)(
    transformer("LiltModel", "LiltConfig", **TWO, **SIZES)
)
model("textnet", image(160))(
    transformer("TextNetBackbone", "TextNetConfig", "pixel_values", lambda o: o.feature_maps[-1])
)
model("superpoint", image(160))(lambda: Points())
model("vivit_2", {"x": ((1, 8, 3, 96, 96), None)})(
    transformer(
        "VivitModel",
        "VivitConfig",
        "pixel_values",
        image_size=96,
        num_frames=8,
        num_hidden_layers=2,
        **SIZES,
    )
)
model("owl_vit_vision_3", image(160), script=True)(
    transformer(
        "OwlViTVisionModel",
        "OwlViTVisionConfig",
        "pixel_values",
        image_size=160,
        patch_size=16,
        num_hidden_layers=3,
        **SIZES,
    )
)
model("vit_matte", {"x": ((1, 4, 128, 128), None)})(
    transformer(
        "VitMatteForImageMatting",
        lambda t: t.VitMatteConfig(
            backbone_config=t.VitDetConfig(
                num_channels=4,
                image_size=128,
                num_hidden_layers=3,
                hidden_size=192,
                num_attention_heads=3,
                window_block_indices=[0, 1],
                residual_block_indices=[2],
                use_relative_position_embeddings=True,
                window_size=4,
                out_features=["stage3"],
            ),
            hidden_size=192,
            fusion_hidden_sizes=[128, 64, 32, 16],
        ),
        "pixel_values",
        "alphas",
    )
)
model("unispeech_sat_2", {"x": ((1, 16000), None)})(
    transformer(
        "UniSpeechSatModel",
        "UniSpeechSatConfig",
        "input_values",
        num_hidden_layers=2,
        conv_dim=[256] * 7,
        **SIZES,
    )
)
model("mimi_decoder", {"x": ((1, 128, 12), None)})(lambda: MimiDecoder())
model("zoe_depth", image(192), script=True)(
    transformer(
        "ZoeDepthForDepthEstimation",
        lambda t: t.ZoeDepthConfig(
            backbone_config=t.BeitConfig(
                image_size=192,
                num_hidden_layers=4,
                out_indices=[1, 2, 3, 4],
                use_relative_position_bias=True,
                reshape_hidden_states=False,
                **SIZES,
            ),
            neck_hidden_sizes=[48, 96, 192, 384],
            fusion_hidden_size=64,
            bottleneck_features=64,
            num_relative_features=32,
        ),
        "pixel_values",
        "predicted_depth",
    )
)

PAST = ((1, 1, 64, 64), None)


@model("helium_step", {"ids": ((1, 1), 1000)} | {n: PAST for n in ("k0", "v0", "k1", "v1")})
def helium_step():
    import transformers

    settings = transformers.HeliumConfig(num_key_value_heads=1, head_dim=64, **TWO, **SIZES)
    return Step(transformers.HeliumForCausalLM(settings), "logits")


class Points(nn.Module):
    """SuperPoint without the choice of points: scores of pixels and normalized descriptors."""

    def __init__(self):
        import transformers

        super().__init__()
        inner = transformers.SuperPointForKeypointDetection(transformers.SuperPointConfig())
        self.body, self.scores, self.rows = (
            inner.encoder,
            inner.keypoint_decoder,
            inner.descriptor_decoder,
        )

    def forward(self, x):
        last = self.body(x[:, :1])[0]
        scores = self.scores._get_pixel_scores(last)
        rows = self.rows.conv_descriptor_b(self.rows.relu(self.rows.conv_descriptor_a(last)))
        return scores.sum() + nn.functional.normalize(rows, dim=1)


class MimiDecoder(nn.Module):
    """Codes of sound back to sound."""

    def __init__(self):
        import transformers

        super().__init__()
        kind = transformers.models.mimi.modeling_mimi.MimiDecoder
        self.inner = kind(transformers.MimiConfig(hidden_size=128, num_filters=16))

    def forward(self, x):
        return self.inner(x)


# ---- diffusers
def diffuser(kind, names, inputs, **options):
    def make():
        import diffusers

        return Called(getattr(diffusers, kind)(**options), names.split(), "sample")

    return model(inputs.pop("name"), inputs)(make)


diffuser(
    "UNet1DModel",
    "sample timestep",
    {"name": "unet1d", "x": ((1, 14, 128), None), "t": ((1,), 1000)},
    sample_size=128,
    in_channels=14,
    out_channels=14,
    extra_in_channels=0,
    time_embedding_type="positional",
    use_timestep_embedding=True,
    down_block_types=("DownResnetBlock1D", "DownResnetBlock1D"),
    up_block_types=("UpResnetBlock1D",),
    mid_block_type="MidResTemporalBlock1D",
    out_block_type="OutConv1DBlock",
    block_out_channels=(64, 128),
    norm_num_groups=8,
    act_fn="mish",
)
diffuser(
    "SanaTransformer2DModel",
    "hidden_states encoder_hidden_states timestep",
    {"name": "sana", "x": ((1, 8, 16, 16), None), "e": ((1, 16, 128), None), "t": ((1,), 1000)},
    in_channels=8,
    out_channels=8,
    num_attention_heads=8,
    attention_head_dim=32,
    num_layers=3,
    num_cross_attention_heads=4,
    cross_attention_head_dim=64,
    cross_attention_dim=256,
    caption_channels=128,
    sample_size=16,
)


class Sound(nn.Module):
    """The decoder of Stable Audio's autoencoder: snakes, transposed convolutions."""

    def __init__(self):
        import diffusers

        super().__init__()
        inner = diffusers.AutoencoderOobleck(
            encoder_hidden_size=32,
            downsampling_ratios=[2, 4, 4],
            channel_multiples=[1, 2, 4],
            decoder_channels=32,
            decoder_input_channels=32,
        )
        self.inner = inner.decoder

    def forward(self, x):
        return self.inner(x)


model("oobleck_decoder", {"x": ((1, 32, 64), None)}, script=True)(Sound)

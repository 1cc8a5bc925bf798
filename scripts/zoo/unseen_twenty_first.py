"""The twenty-first set of models of test/bench/UNSEEN.md: architectures of transformers, diffusers
and timm (unseen_twenty_first_quantized.py has four of them in fewer bits)."""

from zoo import SOURCES, Called, image, model, nn, tokens, torch, transformer, vision

SOURCES.append(__file__)


# ---- transformers: speech, documents, detection, language, sound, people, masks
model("wav2vec2_bert_2", {"x": ((1, "frames=150", 160), None)}, script=True, opset=16)(
    transformer(
        "Wav2Vec2BertModel",
        "Wav2Vec2BertConfig",
        "input_features",
        num_hidden_layers=2,
        hidden_size=512,
        num_attention_heads=8,
        intermediate_size=2048,
    )
)
model("uvdoc", {"x": ((1, 3, 240, 168), None)}, opset=18)(
    transformer(
        "UVDocModel",
        lambda t: t.UVDocConfig(
            backbone_config=t.UVDocBackboneConfig(out_features=[f"stage{k}" for k in range(1, 7)])
        ),
        "pixel_values",
    )
)


@model("deimv2_n", image(320), script=True, unordered=True, opset=16)
def detector():
    import transformers

    seen = transformers.HGNetV2Config(
        stem_channels=[3, 16, 16],
        stage_in_channels=[16, 64, 256, 512],
        stage_mid_channels=[16, 32, 64, 128],
        stage_out_channels=[64, 256, 512, 1024],
        hidden_sizes=[64, 256, 512, 1024],
        stage_num_blocks=[1, 1, 2, 1],
        stage_downsample=[False, True, True, True],
        stage_light_block=[False, False, True, True],
        stage_kernel_size=[3, 3, 5, 5],
        stage_numb_of_layers=[3, 3, 3, 3],
        use_learnable_affine_block=True,
        out_indices=[2, 3, 4],
    )
    settings = transformers.Deimv2Config(
        backbone_config=seen,
        encoder_hidden_dim=128,
        encoder_in_channels=[256, 512, 1024],
        encoder_ffn_dim=512,
        hidden_expansion=0.34,
        depth_mult=0.5,
        d_model=128,
        num_queries=100,
        decoder_in_channels=[128, 128, 128],
        decoder_ffn_dim=512,
        decoder_n_points=[3, 6, 3],
        decoder_layers=3,
        num_labels=80,
    )
    get = lambda out: torch.cat((out.logits, out.pred_boxes), -1)
    return Called(transformers.Deimv2ForObjectDetection(settings), ["pixel_values"], get)


model("qwen3_5_4", {"ids": ((1, 96), 6000)}, opset=18)(
    transformer(
        "Qwen3_5TextModel",
        "Qwen3_5TextConfig",
        "input_ids",
        call="uncached",
        vocab_size=6000,
        hidden_size=512,
        intermediate_size=1536,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=64,
        linear_key_head_dim=64,
        linear_value_head_dim=64,
        linear_num_key_heads=4,
        linear_num_value_heads=8,
    )
)


class Spoken(nn.Module):
    """The decoder of X-Codec, whose codes hold semantic and acoustic features: eight codes per
    frame to a wave."""

    def __init__(self):
        super().__init__()
        import transformers

        sound = transformers.DacConfig(
            encoder_hidden_size=32,
            downsampling_ratios=[8, 5, 4, 2],
            decoder_hidden_size=512,
            upsampling_ratios=[8, 5, 4, 2],
            hidden_size=256,
        )
        words = transformers.HubertConfig(
            num_hidden_layers=1, hidden_size=256, num_attention_heads=8
        )
        settings = transformers.XcodecConfig(
            acoustic_model_config=sound, semantic_model_config=words
        )
        self.inner = transformers.XcodecModel(settings)

    def forward(self, codes):
        return self.inner.decode(codes, return_dict=False)[0]


model("xcodec_decoder", {"codes": ((1, 8, 25), 1000)}, script=True, opset=17)(Spoken)


@model("sapiens2_pose", {"x": ((1, 3, 256, 192), None)}, opset=20)
def people():
    import transformers

    settings = transformers.Sapiens2Config(
        hidden_size=384,
        intermediate_size=1024,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_attention_heads=3,
        num_first_full_attention_layers=1,
        num_last_full_attention_layers=1,
        image_size=[256, 192],
        head_config={"upsample_out_channels": [192, 128], "conv_out_channels": [64]},
        num_labels=17,
    )
    return Called(transformers.Sapiens2ForPoseEstimation(settings), ["pixel_values"], "heatmaps")


@model("edgetam_encoder", image(512), opset=18)
def masks():
    import transformers

    seen = transformers.TimmWrapperConfig(
        architecture="repvit_m1",
        model_args={"in_chans": 3, "features_only": True, "out_indices": [0, 1, 2, 3]},
    )
    settings = transformers.EdgeTamVisionConfig(
        backbone_config=seen, backbone_feature_sizes=[[128, 128], [64, 64], [32, 32]]
    )
    return Called(transformers.EdgeTamVisionModel(settings), ["pixel_values"], 0)


model("wavlm_2", {"x": ((1, 16000), None)}, opset=18)(
    transformer("WavLMModel", "WavLMConfig", "input_values", num_hidden_layers=2)
)


# ---- diffusers
@model(
    "sana_2",
    {"x": ((1, 32, 16, 16), None), "words": ((1, 64, 256), None), "t": ((1,), 1000)},
    opset=18,
)
def picture():
    import diffusers

    inner = diffusers.SanaTransformer2DModel(
        num_attention_heads=16,
        num_layers=2,
        num_cross_attention_heads=8,
        cross_attention_head_dim=64,
        cross_attention_dim=512,
        caption_channels=256,
        sample_size=16,
    )
    names = ["hidden_states", "encoder_hidden_states", "timestep"]
    return Called(inner, names, 0, return_dict=False)


@model("unet_diffusion", {"x": ((1, 3, 64, 64), None), "t": ((1,), 1000)}, script=True, opset=15)
def noise():
    import diffusers

    inner = diffusers.UNet2DModel(
        sample_size=64,
        down_block_types=("DownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
        block_out_channels=(64, 128, 192),
        layers_per_block=1,
    )
    return Called(inner, ["sample", "timestep"], 0, return_dict=False)


@model("wan_decoder", {"x": ((1, 16, 2, 16, 16), None)}, opset=18)
def film():
    import diffusers

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = diffusers.AutoencoderKLWan(base_dim=32)

        def forward(self, x):
            return self.inner.decode(x, return_dict=False)[0]

    return Decoder()


# ---- timm
for name, size, script, opset in (
    ("cpubone_b0_bfrobust", 224, False, 18),
    ("efficientvim_m1", 224, False, 20),
    ("iformer_s", 224, False, 18),
    ("lowformer_b0", 224, True, 17),
    ("lcnetv2_base", 224, True, 13),
    ("xception41p", 299, False, 18),
):
    model(name, image(size), script=script, opset=opset)(vision("timm", name))

if __name__ == "__main__":
    import sys, zoo

    sys.exit(zoo.main(*sys.argv[1:]))

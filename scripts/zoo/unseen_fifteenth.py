"""The fifteenth set of models of test/bench/UNSEEN.md: architectures of timm, torchvision,
transformers and diffusers (unseen_fifteenth_rest.py has the small ones written after their
papers)."""

import torchvision
from zoo import SOURCES, Called, Step, image, model, nn, tokens, torch, transformer, vision

SOURCES.append(__file__)

# ---- timm and torchvision
model("fbnetc_100", image(224, "batch=1"), script=True, opset=13)(vision("timm", "fbnetc_100"))
model("seresnext26t_32x4d", image(160, "batch=1"), opset=17)(vision("timm", "seresnext26t_32x4d"))
model("mvitv2_tiny", image(224), opset=20)(vision("timm", "mvitv2_tiny"))


@model("faster_rcnn_mobile", {"x": ((3, 240, 320), None)}, script=True, unordered=True, opset=16)
def two_stages():
    make = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn
    few = {"rpn_post_nms_top_n_test": 50, "box_score_thresh": 0.0, "box_detections_per_img": 20}
    inner = make(weights=None, weights_backbone=None, num_classes=11, **few)

    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner([x])[0]["boxes"]

    return Listed()


# ---- transformers: words
model("falcon_h1_2", tokens(length=48, mask=False))(
    transformer(
        "FalconH1Model",
        "FalconH1Config",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        mamba_d_ssm=512,
        mamba_n_heads=16,
        mamba_d_head=32,
        mamba_d_state=64,
        mamba_chunk_size=16,
        vocab_size=4000,
    )
)
model("qwen3_next_2", tokens(length=64, mask=False))(
    transformer(
        "Qwen3NextModel",
        "Qwen3NextConfig",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=2,
        layer_types=["linear_attention", "full_attention"],
        mlp_only_layers=[0, 1],
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=64,
        linear_key_head_dim=64,
        linear_value_head_dim=64,
        linear_num_key_heads=4,
        linear_num_value_heads=8,
        vocab_size=4000,
    )
)
model("gpt_oss_2", tokens(length="seq=48", mask=False), opset=18)(
    transformer(
        "GptOssModel",
        "GptOssConfig",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=512,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=64,
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=16,
        experts_implementation="batched_mm",
        vocab_size=4000,
    )
)
model("diff_llama_2", tokens(mask=False), opset=19)(
    transformer(
        "DiffLlamaModel",
        "DiffLlamaConfig",
        "input_ids",
        call=("uncached", "eager"),
        hidden_size=768,
        intermediate_size=2048,
        num_hidden_layers=2,
        num_attention_heads=12,
        num_key_value_heads=4,
        vocab_size=4000,
        pad_token_id=0,
    )
)
model("xlstm_2", tokens(length=32, mask=False))(
    transformer(
        "xLSTMModel",
        "xLSTMConfig",
        "input_ids",
        call=("uncached",),
        hidden_size=512,
        embedding_dim=512,
        num_hidden_layers=2,
        num_blocks=2,
        num_heads=4,
        chunk_size=16,
        chunkwise_kernel="chunkwise--native_autograd",
        sequence_kernel="native_sequence__native",
        step_kernel="native",
        vocab_size=4000,
    )
)
CACHE = ((1, 2, "past=192", 128), None)


@model(
    "qwen3_step",
    {"ids": ((1, 1), 8000), **{k: CACHE for k in ("k0", "v0", "k1", "v1")}},
    opset=20,
)
def qwen3_step():
    import transformers

    settings = transformers.Qwen3Config(
        hidden_size=1024,
        intermediate_size=3072,
        num_hidden_layers=2,
        num_attention_heads=16,
        num_key_value_heads=2,
        head_dim=128,
        vocab_size=8000,
    )
    return Step(transformers.Qwen3ForCausalLM(settings), "logits")


model("ibert_2", tokens(length="seq=64"), script=True, opset=15)(
    transformer(
        "IBertModel",
        "IBertConfig",
        call=("eager",),
        num_hidden_layers=2,
        vocab_size=4000,
        quant_mode=True,
    )
)
model("tapas_2", tokens(length=96) | {"kinds": (("batch=1", 96, 7), 2)}, opset=18)(
    transformer(
        "TapasModel",
        "TapasConfig",
        "input_ids attention_mask token_type_ids",
        num_hidden_layers=2,
        vocab_size=4000,
    )
)


@model(
    "layoutlmv3_2",
    {"ids": ((1, 64), 4000), "box": ((1, 64, 4), 1000), "x": ((1, 3, 112, 112), None)},
    script=True,
    opset=14,
)
def page():
    import transformers

    settings = transformers.LayoutLMv3Config(
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=2,
        num_attention_heads=6,
        coordinate_size=64,
        shape_size=64,
        input_size=112,
        vocab_size=4000,
        attn_implementation="eager",
    )
    inner = transformers.LayoutLMv3Model(settings)
    return Called(inner, ["input_ids", "bbox", "pixel_values"], "last_hidden_state")


# ---- transformers: speech, images, series
SPOKEN = {
    "d_model": 512,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "vocab_size": 8000,
    "pad_token_id": 0,
}


@model(
    "whisper_step",
    {
        "ids": ((1, 1), 8000),
        **{k: ((1, 8, "past=32", 64), None) for k in ("k0", "v0", "k1", "v1")},
        **{k: ((1, 8, 1500, 64), None) for k in ("ek0", "ev0", "ek1", "ev1")},
    },
)
def whisper_step():
    """A decoding step of Whisper: its own keys grow, those of the sound stay."""
    import transformers

    settings = transformers.WhisperConfig(**SPOKEN)
    inner = transformers.WhisperForConditionalGeneration(settings)

    class Next(nn.Module):
        def __init__(self):
            super().__init__()
            self.decoder, self.words = inner.model.decoder, inner.proj_out

        def forward(self, ids, k0, v0, k1, v1, ek0, ev0, ek1, ev1):
            own, seen = transformers.DynamicCache(), transformers.DynamicCache()
            for k, (a, b) in enumerate(((k0, v0), (k1, v1))):
                own.update(a, b, k)
            for k, (a, b) in enumerate(((ek0, ev0), (ek1, ev1))):
                seen.update(a, b, k)
            cache = transformers.EncoderDecoderCache(own, seen)
            cache.is_updated = {0: True, 1: True}
            place = torch.zeros_like(ids) + k0.shape[2]
            out = self.decoder(
                input_ids=ids,
                encoder_hidden_states=ek0.transpose(1, 2).flatten(2),
                past_key_values=cache,
                position_ids=place,
                use_cache=True,
            )
            return self.words(out.last_hidden_state)

    return Next()


@model("encodec_decoder", {"x": ((1, 128, "frames=50"), None)}, script=True, opset=16)
def coded_sound():
    import transformers

    settings = transformers.EncodecConfig(num_filters=16)
    return transformers.models.encodec.modeling_encodec.EncodecDecoder(settings)


@model("q_former_2", {"query": ((1, 32, 384), None), "seen": ((1, "patches=257", 512), None)})
def queries():
    import transformers

    settings = transformers.Blip2QFormerConfig(
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=4,
        num_attention_heads=6,
        encoder_hidden_size=512,
        attn_implementation="eager",
    )
    return Called(
        transformers.Blip2QFormerModel(settings),
        ["query_embeds", "encoder_hidden_states"],
        "last_hidden_state",
    )


@model("mask2former_r18", image(160))
def masks():
    import transformers

    settings = transformers.Mask2FormerConfig(
        backbone_config=transformers.ResNetConfig(
            layer_type="basic",
            hidden_sizes=[64, 128, 256, 512],
            depths=[2, 2, 2, 2],
            out_features=["stage1", "stage2", "stage3", "stage4"],
        ),
        encoder_layers=2,
        decoder_layers=3,
        num_queries=50,
    )
    inner = transformers.Mask2FormerModel(settings)
    return Called(inner, ["pixel_values"], lambda made: made.masks_queries_logits[-1])


@model(
    "seg_gpt_2",
    {k: ((1, 3, 128, 128), None) for k in ("x", "asked", "meant")},
    opset=18,
)
def painter():
    import transformers

    settings = transformers.SegGptConfig(
        hidden_size=384,
        num_hidden_layers=4,
        num_attention_heads=6,
        image_size=(256, 128),
        pretrain_image_size=128,
        mlp_dim=1536,
        merge_index=0,
        intermediate_hidden_state_indices=[0, 1, 2, 3],
    )
    inner = transformers.SegGptForImageSegmentation(settings)
    names = ["pixel_values", "prompt_pixel_values", "prompt_masks"]
    return Called(inner, names, "pred_masks", embedding_type="instance")


@model("d_fine_n", image(320), unordered=True, opset=16, script=True)
def fine():
    import transformers

    settings = transformers.DFineConfig(
        backbone_config=transformers.HGNetV2Config(
            hidden_sizes=[64, 256, 512, 1024],
            stem_channels=[3, 16, 16],
            stage_in_channels=[16, 64, 256, 512],
            stage_mid_channels=[16, 32, 64, 128],
            stage_out_channels=[64, 256, 512, 1024],
            stage_num_blocks=[1, 1, 2, 1],
            stage_downsample=[False, True, True, True],
            stage_light_block=[False, False, True, True],
            stage_kernel_size=[3, 3, 5, 5],
            stage_numb_of_layers=[3, 3, 3, 3],
            out_features=["stage3", "stage4"],
            use_learnable_affine_block=True,
        ),
        encoder_in_channels=[512, 1024],
        feat_strides=[16, 32],
        encoder_hidden_dim=128,
        encoder_ffn_dim=512,
        encode_proj_layers=[1],
        d_model=128,
        decoder_in_channels=[128, 128],
        decoder_ffn_dim=512,
        num_feature_levels=2,
        decoder_n_points=[6, 6],
        decoder_layers=3,
        hidden_expansion=0.34,
        depth_mult=0.5,
        num_queries=100,
        anchor_image_size=[320, 320],
    )
    return Called(transformers.DFineForObjectDetection(settings), ["pixel_values"], "logits")


SERIES = {"past": ((4, 99), None), "when": ((4, 99, 4), None), "next": ((4, 24, 4), None)}


@model("informer_2", SERIES, script=True, opset=16)
def informer():
    """The next day from the last four. Attention is over all keys: by default they are drawn at
    random."""
    import transformers

    settings = transformers.InformerConfig(
        prediction_length=24,
        context_length=96,
        lags_sequence=[1, 2, 3],
        num_time_features=4,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        attention_type="full",
        scaling="mean",
    )
    inner = transformers.InformerModel(settings)

    class Known(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, past, when, coming):
            out = self.inner(
                past_values=past,
                past_time_features=when,
                past_observed_mask=torch.ones_like(past),
                future_values=past[:, -24:],
                future_time_features=coming,
            )
            return out.last_hidden_state

    return Known()


# ---- diffusers
@model(
    "sana_2",
    {"x": ((1, 32, 16, 16), None), "text": ((1, "words=48", 256), None), "t": ((1,), 1000)},
)
def sana():
    import diffusers

    inner = diffusers.SanaTransformer2DModel(
        num_attention_heads=16,
        attention_head_dim=32,
        num_layers=2,
        num_cross_attention_heads=8,
        cross_attention_head_dim=64,
        cross_attention_dim=512,
        caption_channels=256,
        sample_size=16,
    )
    return Called(inner, ["hidden_states", "encoder_hidden_states", "timestep"], "sample")


@model("ltx_decoder", {"x": ((1, 32, 2, 4, 4), None)})
def video_decoder():
    import diffusers

    inner = diffusers.AutoencoderKLLTXVideo(
        latent_channels=32,
        block_out_channels=(32, 64, 128, 128),
        decoder_block_out_channels=(32, 64, 128, 128),
        layers_per_block=(1, 1, 1, 1, 1),
        decoder_layers_per_block=(1, 1, 1, 1, 1),
    )
    return Called(inner.decoder, ["hidden_states"], lambda made: made)

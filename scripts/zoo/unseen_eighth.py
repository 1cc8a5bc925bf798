"""The eighth set of models of test/bench/UNSEEN.md: architectures of timm, torchvision and
transformers; unseen_eighth_small.py, _sound.py and _rest.py have small networks written after their
papers, unseen_eighth_keras.py those of Keras, unseen_eighth_quantized.py some of these in 8
bits."""

from zoo import SOURCES, Step, image, model, nn, tokens, transformer, vision

SOURCES.append(__file__)


def open_image(size=224):
    return image(size, "batch=1")


# ---- timm, torchvision
model("tresnet_m", image(160))(vision("timm", "tresnet_m"))
model("resnetblur18", open_image(160))(vision("timm", "resnetblur18"))
model("semnasnet_075", image(), script=True)(vision("timm", "semnasnet_075"))
model("cs3darknet_focus_s", image(192), script=True)(vision("timm", "cs3darknet_focus_s"))
model("vit_relpos_s", image(), script=True)(vision("timm", "vit_relpos_small_patch16_224", depth=4))
model("vit_dinov3_s", image(160))(vision("timm", "vit_small_patch16_dinov3", depth=4))
model("vitamin_small", image(), script=True)(vision("timm", "vitamin_small_224"))
model("rdnet_tiny", image(128))(vision("timm", "rdnet_tiny"))
model("inception_resnet_v2", image(139), script=True)(vision("timm", "inception_resnet_v2"))
model("gcresnext26ts", image(160))(vision("timm", "gcresnext26ts"))
model("csatv2", image(256))(vision("timm", "csatv2"))

# ---- transformers
SIZES = {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}
TWO = {"num_hidden_layers": 2, "vocab_size": 1000}
model("rembert_2", tokens())(
    transformer("RemBertModel", "RemBertConfig", input_embedding_size=128, **TWO, **SIZES)
)
model("megatron_bert_3", tokens(), script=True)(
    transformer(
        "MegatronBertModel", "MegatronBertConfig", num_hidden_layers=3, vocab_size=1000, **SIZES
    )
)
model("gptj_2", tokens(mask=False))(
    transformer(
        "GPTJModel",
        "GPTJConfig",
        "input_ids",
        call="uncached",
        n_layer=2,
        n_head=6,
        n_embd=384,
        rotary_dim=32,
        vocab_size=1000,
    )
)
model("mpt_2", tokens(length=64, mask=False))(
    transformer(
        "MptModel",
        "MptConfig",
        "input_ids",
        call="uncached",
        n_layers=2,
        n_heads=6,
        d_model=384,
        vocab_size=1000,
        max_seq_len=128,
    )
)
model("nemotron_2", tokens(mask=False), script=True)(
    transformer("NemotronModel", "NemotronConfig", "input_ids", call="uncached", **TWO, **SIZES)
)
model("cohere_2", tokens(length=64, mask=False))(
    transformer("CohereModel", "CohereConfig", "input_ids", call="uncached", **TWO, **SIZES)
)
model("recurrent_gemma_3", tokens(length=32, mask=False))(
    transformer(
        "RecurrentGemmaModel",
        "RecurrentGemmaConfig",
        "input_ids",
        call="uncached",
        num_hidden_layers=3,
        vocab_size=1000,
        lru_width=384,
        num_key_value_heads=1,
        **SIZES,
    )
)
model("ctrl_2", tokens(length=64, mask=False), script=True)(
    transformer(
        "CTRLModel",
        "CTRLConfig",
        "input_ids",
        call="uncached",
        n_layer=2,
        n_head=6,
        n_embd=384,
        dff=1536,
        vocab_size=1000,
    )
)
model("dpt_s", image(192))(
    transformer(
        "DPTForDepthEstimation",
        "DPTConfig",
        "pixel_values",
        "predicted_depth",
        image_size=192,
        num_hidden_layers=4,
        backbone_out_indices=[0, 1, 2, 3],
        neck_hidden_sizes=[48, 96, 192, 384],
        fusion_hidden_size=64,
        **SIZES,
    )
)
model("glpn", image(128), script=True)(
    transformer(
        "GLPNForDepthEstimation",
        "GLPNConfig",
        "pixel_values",
        "predicted_depth",
        depths=[1, 1, 1, 1],
    )
)
model("videomae_2", {"x": ((1, 4, 3, 112, 112), None)})(
    transformer(
        "VideoMAEModel",
        "VideoMAEConfig",
        "pixel_values",
        image_size=112,
        num_frames=4,
        num_hidden_layers=2,
        **SIZES,
    )
)
model("timesformer_2", {"x": ((1, 4, 3, 112, 112), None)}, script=True)(
    transformer(
        "TimesformerModel",
        "TimesformerConfig",
        "pixel_values",
        image_size=112,
        num_frames=4,
        num_hidden_layers=2,
        **SIZES,
    )
)
model("cvt_13", image(128))(
    transformer("CvtForImageClassification", "CvtConfig", "pixel_values", "logits", depth=[1, 2, 4])
)
model("sew_2", {"x": ((1, 16000), None)})(
    transformer("SEWModel", "SEWConfig", "input_values", num_hidden_layers=2, **SIZES)
)
model("data2vec_audio_2", {"x": ((1, 16000), None)}, script=True)(
    transformer(
        "Data2VecAudioModel",
        "Data2VecAudioConfig",
        "input_values",
        num_hidden_layers=2,
        conv_dim=[256] * 7,
        **SIZES,
    )
)


class Listener(nn.Module):
    """The encoder of Speech2Text."""

    def __init__(self):
        import transformers

        super().__init__()
        settings = transformers.Speech2TextConfig(encoder_layers=3, d_model=256, vocab_size=1000)
        self.inner = transformers.Speech2TextModel(settings).get_encoder()

    def forward(self, x):
        return self.inner(x).last_hidden_state


model("speech_to_text", {"x": ((1, 200, 80), None)})(Listener)

PAST = ((1, 2, 64, 64), None)


@model("starcoder2_step", {"ids": ((1, 1), 1000), "k0": PAST, "v0": PAST, "k1": PAST, "v1": PAST})
def starcoder2_step():
    import transformers

    settings = transformers.Starcoder2Config(num_key_value_heads=2, **TWO, **SIZES)
    return Step(transformers.Starcoder2ForCausalLM(settings), "logits")

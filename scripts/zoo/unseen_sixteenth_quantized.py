"""Models of the sixteenth set of test/bench/UNSEEN.md in fewer bits, by ONNX Runtime's tools, of
those that unseen.py wrote: NAME_qdq16.onnx (activations of 16 bits, weights of 8), NAME_nbits.onnx
(weights of 4 bits in MatMulNBits), NAME_int4.onnx (the same as blocks of DequantizeLinear),
NAME_dynamic.onnx (8 bits, dynamically quantized). Usage: unseen_sixteenth_quantized.py FOLDER"""

import os, sys
import onnx
from onnxruntime import quantization
from onnxruntime.quantization import matmul_nbits_quantizer as nbits
from onnxruntime.quantization import QuantType
from unseen_eighth_quantized import static


def of_16_bits(path, out):
    """Activations of 16 bits, which a product of whole numbers does not take."""
    kinds = {"activation_type": QuantType.QUInt16, "weight_type": QuantType.QInt8}
    static(path, out, **kinds, extra_options={"UseQDQContribOps": False})


def of_4_bits(path, out, form):
    settings = nbits.DefaultWeightOnlyQuantConfig(
        block_size=32, is_symmetric=True, accuracy_level=4, quant_format=form
    )
    tool = nbits.MatMulNBitsQuantizer(onnx.load(path), algo_config=settings)
    tool.process()
    onnx.save(tool.model.model, out)


FORMS = quantization.QuantFormat
MADE = {
    "ddr_net_script": {"qdq16": of_16_bits},
    "hunyuan_step": {
        "nbits": lambda path, out: of_4_bits(path, out, FORMS.QOperator),
        "int4": lambda path, out: of_4_bits(path, out, FORMS.QDQ),
    },
    "pix2struct_3_script": {
        "dynamic": lambda path, out: quantization.quantize_dynamic(path, out),
    },
}

if __name__ == "__main__":
    for name, ways in MADE.items():
        at = os.path.join(sys.argv[1], name)
        for way, write in ways.items():
            try:
                write(at + ".onnx", f"{at}_{way}.onnx")
                print(f"{name}_{way}", flush=True)
            except Exception as error:  # of any library: the others are written all the same
                print(f"{name}_{way}: not written: {str(error)[:300]}", file=sys.stderr)

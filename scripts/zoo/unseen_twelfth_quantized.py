"""Models of the twelfth set of test/bench/UNSEEN.md in 8 bits, as unseen_eighth_quantized.py writes
its own. Usage: unseen_twelfth_quantized.py FOLDER"""

import sys
from unseen_eighth_quantized import main

STATIC = {"retina_face_script": True, "mobilenetv1_100_script": True}
DYNAMIC = ["ernie_3_script", "san_m"]

if __name__ == "__main__":
    main(*sys.argv[1:], STATIC, DYNAMIC)

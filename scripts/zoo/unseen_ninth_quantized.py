"""Models of the ninth set of test/bench/UNSEEN.md in 8 bits, as unseen_eighth_quantized.py writes
its own. Usage: unseen_ninth_quantized.py FOLDER"""

import sys
from unseen_eighth_quantized import main

STATIC = {"tf_efficientnet_lite0_script": True, "cbam": False, "gmixer_12": True}
DYNAMIC = ["big_bird_2_script"]

if __name__ == "__main__":
    main(*sys.argv[1:], STATIC, DYNAMIC)

"""Models of the ninth set of test/bench/UNSEEN.md in 8 bits, as unseen_eighth_quantized.py writes
its own. Usage: unseen_ninth_quantized.py FOLDER"""

import sys
from unseen_eighth_quantized import main

STATIC = {"mnasnet0_5": True, "wave_mix_script": False}

if __name__ == "__main__":
    main(*sys.argv[1:], STATIC, [])

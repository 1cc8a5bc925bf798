"""Models of the seventeenth set of test/bench/UNSEEN.md that scikit-learn (by skl2onnx) writes.
Usage: unseen_seventeenth_tables.py FOLDER [NAME..]"""

import sys
from unseen_seventh_keras import MODELS, main
from unseen_sixteenth_tables import COLUMNS, drawn, saved


def learnt(make):
    def write(path):
        import skl2onnx
        from skl2onnx.common.data_types import FloatTensorType

        net = make().fit(*drawn())
        kinds = [("x", FloatTensorType([None, COLUMNS]))]
        options = {id(net): {"zipmap": False}}
        saved(skl2onnx.convert_sklearn(net, "m", kinds, options=options, target_opset=18), path)

    return write


def neighbours():
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), KNeighborsClassifier(7, weights="distance"))


MODELS.clear()
MODELS |= {"sk_neighbours": learnt(neighbours)}

if __name__ == "__main__":
    main(*sys.argv[1:])

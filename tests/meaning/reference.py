#!/usr/bin/python3
"""The sentence encoder once more, written for numpy from the description in src/meaning/encoder.h and
with the weights as they were published: what src/meaning is held against.

    reference.py PACKAGE >tests/meaning/reference.txt

PACKAGE is the archive that tools/make-encoder keeps. The output has, for each text below, a line with
the text as JSON and one with its vector. Nothing of src/ or tools/ is used here."""
import json
import sys
import tarfile
import unicodedata

import numpy as np

TEXTS = [
    "How old are you?",
    "What is your age?",
    "The quarterly report shows that revenue in Europe grew by fifteen percent.",
    "def mean(values): return sum(values) / len(values)",
    "  Two\tlines,\n\nand ﬁve ｆｕｌｌ－ｗｉｄｔｈ words…  ",
    "Zürich liegt am See; 東京は大きい; Ωμέγα :-) http://example.org/a?b=c",
    "x",
    # More than the encoder looks at in one go.
    "The committee met on Tuesday to talk about the budget of the coming year. " * 20,
]
HEADS, TOKENS_MAX, RESERVED = 4, 128, 6
BLANK = "\u2581"


def load(path):
    with tarfile.open(path) as tar:
        group = json.load(tar.extractfile("package/dist/model.json"))["weightsManifest"][0]
        raw = b"".join(tar.extractfile(f"package/dist/{p}").read() for p in group["paths"])
        vocabulary = json.load(tar.extractfile("package/dist/vocab.json"))
    tensors, at = {}, 0
    for w in group["weights"]:
        size = int(np.prod(w["shape"]))
        tensors[w["name"]] = np.frombuffer(raw, w["dtype"], size, at).reshape(w["shape"])
        at += 4 * size
    assert at == len(raw)
    return tensors, vocabulary


class Tokens:
    def __init__(self, vocabulary):
        self.pieces = {text: (score or 0.0, number)
                       for number, (text, score) in enumerate(vocabulary) if number >= RESERVED}
        self.longest = max(map(len, self.pieces))

    def best(self, text):
        """Backwards: the best last piece for every beginning of the text."""
        ways = [(0.0, None, None)]
        for end in range(1, len(text) + 1):
            way = None
            for start in range(max(0, end - self.longest), end):
                score, number = self.pieces.get(text[start:end], (None, None))
                if score is not None and (way is None or ways[start][0] + score >= way[0]):
                    way = ways[start][0] + score, start, number
            ways.append(way or (ways[end - 1][0], end - 1, 0))
        return ways

    def of(self, text):
        words = unicodedata.normalize("NFKC", text).split()
        text = "".join(BLANK + word for word in words)
        ways, at, found = self.best(text), len(text), []
        while at > 0:
            found.append(ways[at][2])
            at = ways[at][1]
        found.reverse()
        return [n for i, n in enumerate(found) if n or i == 0 or found[i - 1]]


class Encoder:
    def __init__(self, tensors):
        self.t = tensors
        self.a = "module_apply_default/Encoder_en/KonaTransformer/Encode/"
        self.b = "module/Encoder_en/KonaTransformer/Encode/"

    def learned(self, layer, name):
        return self.t[f"{self.a}Layer_{layer}/TransformerLayer/{name}/ConcatPartitions/concat"]

    def norm(self, layer, where, x):
        scale, bias = (self.learned(layer, f"{where}layer_prepostprocess/layer_norm/layer_norm_{n}")
                       for n in ("scale", "bias"))
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-6) * scale + bias

    def turn(self, layer, name, x):
        path = f"Layer_{layer}/TransformerLayer/MultiheadAttention/{name}"
        return x @ self.t[f"{self.b}{path}/kernel/part_0"][0, 0] + self.learned(
            layer, f"MultiheadAttention/{name}/bias")

    def attention(self, layer, x):
        mixed = []
        q, k, v = np.split(self.turn(layer, "qkv_transform_single", x), 3, axis=1)
        for qh, kh, vh in zip(*(np.split(m, HEADS, axis=1) for m in (q, k, v))):
            score = qh @ kh.T / np.sqrt(qh.shape[1])
            share = np.exp(score - score.max(1, keepdims=True))
            mixed.append(share / share.sum(1, keepdims=True) @ vh)
        return self.turn(layer, "output_transform_single", np.concatenate(mixed, 1))

    def alone(self, layer, x):
        path = self.a + f"TransformerStack/Layer_{layer}/TransformerLayer/FFN/"
        one, two = (self.t[f"{path}conv{n}/Tensordot/Reshape_1"] for n in (1, 2))
        inner = self.norm(layer, "FFN/", x) @ one + self.learned(layer, "FFN/conv1/bias")
        return np.maximum(inner, 0) @ two + self.learned(layer, "FFN/conv2/bias")

    def vector(self, tokens):
        place = np.arange(len(tokens))[:, None] * self.t[
            self.a + "TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1"]
        x = 2 * self.t["module/Embeddings_en"][tokens]
        x = x + np.concatenate([np.sin(place), np.cos(place)], 1)
        raised = x @ self.learned(0, "dense/kernel") + self.learned(0, "dense/bias")
        x = raised + self.attention(0, self.norm(0, "", x))
        x = x + self.alone(0, x)
        x = x + self.attention(1, self.norm(1, "", x))
        x = x + self.alone(1, x)
        last = "module/Encoder_en/hidden_layers/tanh_layer_0/"
        y = np.tanh(x.mean(0) @ self.t[last + "weights"] + self.t[last + "bias"])
        return y / np.linalg.norm(y)

    def vector_of_all(self, tokens):
        """Of a long text the mean of its parts."""
        parts = [self.vector(tokens[i:i + TOKENS_MAX]) for i in range(0, len(tokens), TOKENS_MAX)]
        return sum(parts) / np.linalg.norm(sum(parts))


def main(path):
    tensors, vocabulary = load(path)
    tokens, encoder = Tokens(vocabulary), Encoder(tensors)
    for text in TEXTS:
        print(json.dumps(text))
        print(" ".join(f"{n:.5f}" for n in encoder.vector_of_all(tokens.of(text))))


if __name__ == "__main__":
    main(sys.argv[1])

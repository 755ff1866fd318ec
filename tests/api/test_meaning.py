"""Search by what texts mean: with the encoder here, with an endpoint of somebody else's, and without any."""
import http.server
import json
import pathlib
import threading
import time
import unittest
import urllib.parse

from base import CICADA
from files import FilesTest

WAIT_S = 120
WEIGHTS = pathlib.Path(CICADA).parent / "encoder/use-lite-q8.bin"
TEXTS = {
    "sofa.txt": "Our cat refuses to eat anything but tuna, and sleeps all day on the sofa.",
    "engine.txt": "The engine overheated because the coolant had leaked out on the motorway.",
    "museum.txt": "The museum shows paintings from the nineteenth century until Sunday evening.",
    "court.txt": "The court found the defendant not guilty on all charges after a long trial.",
    "ice.txt": "Glaciers in the Alps have lost half their volume since the year 1900.",
    "other.txt": "We bought a new printer for the office, and paper, and a plant.",
}


class MeaningTest(FilesTest):
    def put_all(self, texts=None):
        for name, text in (texts or TEXTS).items():
            self.make(name, text.encode())

    def intelligence(self, is_on):
        answer = self.client.ok("PATCH", self.ws, {"intelligence": is_on})
        self.assertIs(answer["intelligence"], is_on)

    def index(self):
        return self.client.ok("GET", f"{self.ws}/index")

    def until(self, holds):
        """Waits for the index to be so; the indexer says nothing by itself."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            state = self.index()
            if holds(state):
                return state
            time.sleep(0.1)
        raise AssertionError(f"still not: {self.index()}\n{self.server.log()}")

    def known(self, count):
        return self.until(lambda s: s["intelligence"]["chunks"] == count and not s["pending"])

    def answer(self, words, **more):
        return self.client.ok("GET", f"{self.ws}/search?" + urllib.parse.urlencode({"q": words, **more}))

    def found(self, words, **more):
        return [(hit["path"], hit["match"]) for hit in self.answer(words, **more)["data"]]


@unittest.skipUnless(WEIGHTS.exists(), "the weights are not here: ./dev encoder could not get them")
class Here(MeaningTest):
    settings = {"search.index": "on"}

    def test_what_means_the_same_is_found_and_cited(self):
        self.put_all()
        self.intelligence(True)
        state = self.known(len(TEXTS))["intelligence"]
        self.assertEqual((state["is_on"], state["model"], state["error"]), (True, "use-lite-q8", None))
        hit = self.answer("why did my car break down")["data"][0]
        self.assertEqual((hit["path"], hit["match"], hit["version"], hit["cite"]),
                         ("engine.txt", "semantic", 1, {"lines": [1, 1]}))
        self.assertIn("The engine overheated", hit["snippet"])
        self.assertEqual(self.found("the jury let him go free")[0], ("court.txt", "semantic"))

    def test_words_come_first_and_are_told_apart(self):
        self.put_all()
        self.intelligence(True)
        self.known(len(TEXTS))
        self.assertEqual(self.found("glaciers are melting in the alps")[0], ("ice.txt", "both"))
        self.assertEqual(self.found("printer")[0][0], "other.txt")
        # Who says exactly what is to be there gets nothing else.
        self.assertEqual([path for path, _ in self.found('"not guilty"')], ["court.txt"])
        self.assertEqual(self.found("exhibition of old art -museum"), [])

    def test_filters_hold(self):
        self.put_all({"a/engine.txt": TEXTS["engine.txt"], "b/engine.md": TEXTS["engine.txt"]})
        self.intelligence(True)
        self.known(2)
        question = "automobile trouble: motor too hot"
        self.assertEqual({p for p, _ in self.found(question)}, {"a/engine.txt", "b/engine.md"})
        self.assertEqual([p for p, _ in self.found(question, path="b/")], ["b/engine.md"])
        self.assertEqual([p for p, _ in self.found(question, type="txt")], ["a/engine.txt"])
        self.assertEqual(self.found(question, kind="runs"), [])

    def test_vectors_follow_the_files(self):
        self.put_all()
        self.intelligence(True)
        self.known(len(TEXTS))
        self.client.ok("DELETE", self.at("sofa.txt"), status=204)
        self.known(len(TEXTS) - 1)
        self.make("more.txt", b"A kitten that only wants fish for dinner.")
        self.known(len(TEXTS))
        self.assertEqual(self.found("picky pet food")[0], ("more.txt", "semantic"))

    def test_off_there_are_none(self):
        self.put_all()
        self.until(lambda s: s["ready"] == len(TEXTS))
        self.assertEqual(self.found("picky pet food"), [])
        self.intelligence(True)
        self.known(len(TEXTS))
        self.intelligence(False)
        self.assertIs(self.known(0)["intelligence"]["is_on"], False)
        self.assertEqual(self.found("picky pet food"), [])
        self.assertIsNone(self.answer("picky pet food")["notice"])


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Two numbers for each text: about animals, about anything else."""
    protocol_version = "HTTP/1.1"
    seen, status = [], 200

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen.append((self.path, self.headers.get("Authorization"), body))
        is_animal = [any(word in text.lower() for word in ("cat", "pet", "kitten")) for text in body["input"]]
        answer = json.dumps({"data": [{"index": i, "embedding": [1, 0.1] if it else [0.1, 1]}
                                      for i, it in enumerate(is_animal)]}).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
threading.Thread(target=endpoint.serve_forever, daemon=True).start()


class Elsewhere(MeaningTest):
    settings = {"search.index": "on", "search.key": "sesame-1", "search.model": "two-numbers",
                "search.encoder": f"http://127.0.0.1:{endpoint.server_port}/v1"}

    def setUp(self):
        super().setUp()
        Endpoint.seen, Endpoint.status = [], 200

    def test_an_endpoint_is_asked_for_texts_of_these_workspaces_alone(self):
        self.put_all()
        self.until(lambda s: s["ready"] == len(TEXTS))
        self.found("picky pet food")
        self.assertEqual([body for _, _, body in Endpoint.seen if body["input"] != ["cicada"]], [])
        self.intelligence(True)
        self.assertEqual(self.known(len(TEXTS))["intelligence"]["model"], "two-numbers")
        self.assertEqual({(path, key, body["model"]) for path, key, body in Endpoint.seen},
                         {("/v1/embeddings", "Bearer sesame-1", "two-numbers")})
        self.assertEqual(self.found("picky pet food")[0], ("sofa.txt", "semantic"))

    def test_words_go_on_when_it_does_not_answer(self):
        self.put_all()
        self.intelligence(True)
        self.known(len(TEXTS))
        Endpoint.status = 503
        answer = self.answer("tuna")
        self.assertEqual([(hit["path"], hit["match"]) for hit in answer["data"]], [("sofa.txt", "keyword")])
        self.assertIn("refuses (503", answer["notice"])
        self.assertNotIn("sesame", answer["notice"])


class Off(MeaningTest):
    settings = {"search.index": "on", "search.encoder": "off"}

    def test_the_index_says_why(self):
        self.put_all()
        self.intelligence(True)
        state = self.until(lambda s: s["ready"] == len(TEXTS))["intelligence"]
        self.assertEqual((state["is_on"], state["model"], state["chunks"]), (True, None, 0))
        self.assertIn("switched off", state["error"])
        answer = self.answer("tuna")
        self.assertEqual(answer["data"][0]["match"], "keyword")
        self.assertIn("switched off", answer["notice"])


if __name__ == "__main__":
    unittest.main()

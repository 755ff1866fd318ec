"""`cicada bench`: that it measures; what it measures is nobody's to promise on a busy machine."""
import os

from harness import Case


class Bench(Case):
    def test_it_says_what_can_be_measured(self):
        for words in ([], ["disk"], ["kernel", "kernel"], ["kernel", "-n", "0"], ["kernel", "--live", "x"]):
            ran = self.cicada("bench", *words)
            self.assertEqual(2, ran.code, ran)
            self.assertIn("cicada bench --help", ran.err)

    def test_without_an_image_it_says_how_to_get_one(self):
        ran = self.cicada("bench", "kernel", "-n", "1", "--live", "0", "--asleep", "0",
                          env=self.environment(CICADA_IMAGE_DIR=str(self.place / "none")))
        self.assertEqual(125, ran.code, ran)
        self.assertIn("not measured", ran.out)

    def test_with_an_image_it_measures_everything(self):
        if os.environ.get("CICADA_IMAGE_DIR", "off") == "off":
            self.skipTest("there is no image")
        ran = self.cicada("bench", "kernel", "-n", "2", "--live", "3", "--asleep", "3",
                          env=self.environment(CICADA_IMAGE_DIR=os.environ["CICADA_IMAGE_DIR"]))
        self.assertEqual(0, ran.code, ran)
        for row in ("from the warm pool", "wake it", "roll back", "branch", "3 sleeping"):
            self.assertRegex(ran.out, rf"{row}[^\n]*(ok|MISSED)\n")

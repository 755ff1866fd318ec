"""`cicada bake` and what the other commands do with the image it makes."""
import json
import os

from harness import Case


class Bake(Case):
    def test_where_images_are_off_none_is_made(self):
        ran = self.cicada("bake", env=self.environment(CICADA_IMAGE_DIR="off"))
        self.assertEqual(125, ran.code, ran)
        self.assertIn("no image was made", ran.err)
        self.assertIn("switched off", ran.err)

    def test_operands_and_unknown_options_are_refused(self):
        for words, text in ((["now"], "no operands"), (["--fast"], "there is no option --fast")):
            ran = self.cicada("bake", *words)
            self.assertEqual(2, ran.code, ran)
            self.assertIn(text, ran.err)

    def test_a_directory_of_others_is_not_used(self):
        place = self.place / "images"
        place.mkdir()
        place.chmod(0o777)
        ran = self.cicada("bake", env=self.environment(CICADA_IMAGE_DIR=str(place)))
        self.assertEqual(125, ran.code, ran)
        self.assertIn("others", ran.err)

    def test_sessions_start_from_the_image_and_cold_without_a_difference(self):
        place = self.place / "cache" / "images"
        env = self.environment(CICADA_IMAGE_DIR=str(place))
        found = json.loads(self.cicada("doctor", "--json", env=env).out)
        self.assertIs(False, found["image"]["current"])
        self.assertTrue(found["image"]["error"])
        if found["tier"] != "full":
            self.skipTest("only tier full uses images")

        ran = self.cicada("bake", env=env)
        self.assertEqual(0, ran.code, ran)
        self.assertRegex(ran.out, r"\Aimage [0-9a-f]{12}: [^\n]* on disk, made in [\d.]+ s\n\Z")
        self.assertIn("cicada: importing pandas\n", ran.err)
        self.assertNotIn("\r", ran.err)
        again = self.cicada("bake", env=env)
        self.assertEqual((0, ""), (again.code, again.err), again)
        self.assertIn("is current", again.out)
        self.assertEqual(2, len(os.listdir(place)))

        found = json.loads(self.cicada("doctor", "--json", env=env).out)
        self.assertIs(True, found["image"]["current"])
        self.assertIsNone(found["image"]["error"])
        self.assertGreater(found["image"]["disk_bytes"], 1 << 20)
        self.assertIn("image      current", self.cicada("doctor", env=env).out)

        ask = ("-c", "import sys; 'pandas' in sys.modules")
        self.assertEqual("True\n", self.ok(*ask, env=env).out)
        self.assertEqual("False\n", self.ok("--cold", *ask, env=env).out)
        self.assertEqual("False\n", self.ok(*ask, env=self.environment(CICADA_IMAGE_DIR="off")).out)

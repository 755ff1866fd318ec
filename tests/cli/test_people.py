"""`cicada invite`, `claim` and `usage`, beside a real server."""
import unittest

from harness import Case
from served import IS_REAL, Served


class Help(Case):
    def test_every_command_explains_itself(self):
        for command in "invite", "claim", "usage":
            ran = self.cicada(command, "--help")
            self.assertEqual((0, ""), (ran.code, ran.err), ran)
            self.assertTrue(ran.out.startswith(f"usage: cicada {command} "), ran)


@unittest.skipUnless(IS_REAL, "the stand-in has no people")
class People(Served):
    def setUp(self):
        super().setUp()
        self.good("workspaces", "create", "reports")

    def test_invitations(self):
        token = self.good("invite", "create", "-w", "reports", "--role", "editor", "--name", "Ada",
                          "--expires", "1d").out.strip()
        self.assertRegex(token, "^civ_")
        invite = self.object("invite", "ls", "-w", "reports")
        self.assertEqual(("editor", "Ada", None), (invite["role"], invite["name"], invite["used_at"]))
        self.assertIn("revoked", self.good("invite", "rm", invite["id"], "-w", "reports").err)
        self.assertIn("revoked", self.fails(2, "invite", "join", token))
        self.assertIn("role", self.fails(2, "invite", "create", "-w", "reports", "--role", "king"))

    def test_claims(self):
        token = self.good("claim", "create", "-w", "reports").out.strip()
        self.assertRegex(token, "^ccl_")
        self.assertIn("yours already", self.fails(125, "claim", "take", token))
        self.assertEqual(1, len(self.objects("claim", "ls", "-w", "reports")))
        self.fails(125, "claim", "create", "-w", "default")

    def test_who_is_disabled_cannot_come_in(self):
        self.good("principal", "create", "bot", "--kind", "agent")
        key = self.good("key", "create", "--principal", "bot", "--name", "k", "--scopes", "run").out.strip()
        self.assertIn("not let in", self.good("principal", "disable", "bot").err)
        self.assertIsNotNone({p["name"]: p for p in self.objects("principal", "ls")}["bot"]["disabled_at"])
        self.fails(77, "sessions", "ls", env=self.environment(CICADA_API_KEY=key))
        self.assertIn("let in again", self.good("principal", "enable", "bot").err)
        self.good("sessions", "ls", env=self.environment(CICADA_API_KEY=key))
        self.fails(2, "principal", "disable", "nobody")

    def test_usage(self):
        self.good("run", "-w", "reports", "-c", "print(1)")
        report = self.object("usage")
        used = {w["name"]: w["runs"] for w in report["workspaces"]}
        self.assertEqual(1, used["reports"])
        self.assertIn("reports", self.good("usage").out)
        self.assertIn("2026-01", self.fails(2, "usage", "show", "--month", "May"))

"""`cicada workspaces members`, beside a real server."""
import unittest

from served import IS_REAL, Served


@unittest.skipUnless(IS_REAL, "the stand-in has no members")
class Members(Served):
    def setUp(self):
        super().setUp()
        self.good("workspaces", "create", "reports")
        self.bob = self.good("principal", "create", "bob").out.strip()

    def roles(self):
        return {m["name"]: m["role"] for m in self.objects("workspaces", "members", "reports")}

    def test_members_come_change_and_go(self):
        self.assertEqual(["owner"], list(self.roles().values()))
        self.assertIn("bob is viewer now", self.good("workspaces", "members", "reports", "add", "bob", "viewer").err)
        self.good("workspaces", "members", "reports", "add", self.bob, "admin")
        self.assertEqual("admin", self.roles()["bob"])
        self.assertEqual(2, len(self.good("workspaces", "members", "reports").out.splitlines()))
        self.assertIn("bob is no member any more", self.good("workspaces", "members", "reports", "rm", "bob").err)
        self.assertNotIn("bob", self.roles())
        self.fails(2, "workspaces", "members", "reports", "rm", self.bob)

    def test_mistakes_are_explained(self):
        self.assertIn("viewer, editor, admin", self.fails(2, "workspaces", "members", "reports", "add", "bob", "king"))
        self.assertIn("members WORKSPACE add PRINCIPAL", self.fails(2, "workspaces", "members", "reports", "add", "bob"))
        self.assertIn("members WORKSPACE rm PRINCIPAL", self.fails(2, "workspaces", "members", "reports", "drop", "bob"))

    def test_the_list_of_workspaces_says_the_role(self):
        self.assertEqual({"owner"}, {w["role"] for w in self.objects("workspaces", "ls")})
        self.assertIn("owner", self.good("workspaces").out)


if __name__ == "__main__":
    unittest.main()

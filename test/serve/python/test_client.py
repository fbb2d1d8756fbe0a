"""Tests of clients/python/drydock.py against a real server: the program is DRYDOCK, the state DRYDOCK_STATE_DIR."""

import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, os.environ["DRYDOCK_PYTHON"])
import drydock  # noqa: E402

server = drydock.Client.start(os.environ["DRYDOCK"])
client: drydock.Client


def setUpModule() -> None:
    global client
    client = server.__enter__()


def tearDownModule() -> None:
    server.__exit__(None, None, None)
    document = json.loads(Path(os.environ["DRYDOCK_PYTHON"], "../../schema/openapi.json").read_text())
    operations = {(verb.upper(), path) for path, verbs in document["paths"].items() for verb in verbs}
    missing = [each for each in operations if not any(is_call_of(each, call) for call in called)]
    assert missing == [], f"no test calls {missing}"


# The method and path of every request.
called: list[tuple[str, str]] = []


def is_call_of(operation: tuple[str, str], call: tuple[str, str]) -> bool:
    pattern = re.sub(r"\{\w+\}", "[^/]+", operation[1])
    return operation[0] == call[0] and re.fullmatch(pattern, call[1]) is not None


class Connection(drydock._SocketConnection):
    def request(self, method, url, *args, **options):  # type: ignore[no-untyped-def]
        called.append((method, url.split("?")[0]))
        super().request(method, url, *args, **options)


drydock._SocketConnection = Connection  # type: ignore[misc]


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="drydock-python-")
        self.addCleanup(folder.cleanup)
        self.app = Path(folder.name, "app")
        self.app.mkdir()
        (self.app / "a.txt").write_text("old\n")

    def plan(self, **options: object) -> drydock.Plan:
        made = client.create([str(self.app)], **options)
        self.addCleanup(lambda: made.cancel() if made.show()["state"] == "open" else None)
        return made

    def test_work_lands_and_is_undone(self) -> None:
        with drydock.plan([str(self.app)], client=client, name="first", labels={"by": "python"}) as plan:
            self.assertEqual(plan.write("a.txt", "new\n")["operation"], "modified")
            plan.write("sub/b.bin", io.BytesIO(b"\x00\xff" * 3))
            plan.write("pieces", (piece for piece in [b"one ", b"two"]))
            self.assertEqual(plan.read("a.txt"), b"new\n")
            self.assertEqual(plan.read("sub/b.bin", offset=1, length=2), b"\xff\x00")
            diff = plan.diff()
            self.assertEqual(sorted(change["path"] for change in diff["changes"]), ["a.txt", "pieces", "sub", "sub/b.bin"])
            self.assertIn(b"+new", plan.patch(paths=["a.txt"]))
            self.assertEqual([each["name"] for each in client.plans(label="by=python")], ["first"])
            self.assertEqual(plan.apply(message="from python", digest=diff["digest"])["state"], "applied")
        self.assertEqual((self.app / "a.txt").read_text(), "new\n")
        self.assertEqual(plan.undo()["state"], "undone")
        self.assertEqual((self.app / "a.txt").read_text(), "old\n")
        self.assertIn("applied", [entry["event"] for entry in plan.log()])

    def test_work_stays_in_the_plan_unless_it_is_cancelled(self) -> None:
        with self.assertRaisesRegex(ZeroDivisionError, ""):
            with client.plan([str(self.app)]) as plan:
                plan.write("a.txt", "kept")
                _ = 1 / 0
        self.assertEqual(plan.read("a.txt"), b"kept")
        plan.cancel()
        with client.plan([str(self.app)], cancel=True) as plan:
            plan.write("a.txt", "gone")
        self.assertEqual(plan.show()["state"], "cancelled")

    def test_entries(self) -> None:
        plan = self.plan()
        plan.make_folder("deep/er")
        plan.write("deep/er/f", b"x")
        plan.rename("deep/er/f", "deep/g")
        self.assertEqual([entry["path"] for entry in plan.list(recursive=True)], ["a.txt", "deep", "deep/er", "deep/g"])
        self.assertEqual(plan.stat("deep/g")["size"], 1)
        plan.remove("deep", recursive=True)
        with self.assertRaises(drydock.DrydockError) as caught:
            plan.stat("deep")
        self.assertEqual((caught.exception.code, caught.exception.status), ("NO_SUCH_FILE", 404))
        odd = os.fsdecode(b"caf\xe9")
        plan.write(odd, "odd")
        self.assertIn(odd, [entry["path"] for entry in plan.list()])
        self.assertEqual(plan.read(odd), b"odd")

    def test_many_entries_come_in_pages(self) -> None:
        for at in range(1200):
            (self.app / f"f{at:04}").touch()
        self.assertEqual(len(list(self.plan().list())), 1201)

    def test_commands(self) -> None:
        plan = self.plan()
        captured = plan.run(["sh", "-c", "cat; echo err >&2; exit 3"], input="in")
        self.assertEqual((captured["exitCode"], captured["stdout"], captured["stderr"]), (3, "in", "err\n"))
        with plan.stream(["sh", "-c", "read x; echo got $x; echo e >&2"]) as command:
            command.write("hello\n", end=True)
            pieces = list(command)
        self.assertEqual(b"".join(data for name, data in pieces if name == "stdout"), b"got hello\n")
        self.assertEqual(command.result and command.result["exitCode"], 0)
        explained = plan.explain(["claude"], profiles="automatic", network=False)
        self.assertEqual((explained["profiles"], explained["network"]), (["claude"], "none"))
        over = client.explain([str(self.app)], ["claude"], profiles="automatic", network=False)
        self.assertEqual(over, explained)
        with plan.stream(["sleep", "600"]) as command:
            command.resize(5, 9)
            command.kill("SIGKILL")
            self.assertEqual(command.wait()["signal"], "SIGKILL")

    def test_detached_commands(self) -> None:
        plan = self.plan()
        script = "echo begun; read word; echo got $word > a.txt; stty size; exit 7"
        command = plan.detach(["sh", "-c", script], terminal={"rows": 9, "columns": 40}, limits={"time": 300_000})
        self.assertEqual([each.exec for each in plan.commands()], [command.exec])
        self.assertEqual(command.wait(0)["state"], "running")
        with self.assertRaises(drydock.DrydockError) as caught:
            plan.cancel()
        self.assertEqual(caught.exception.code, "BUSY")
        command.resize(33, 77)
        command.write("word\n")
        self.assertEqual(command.wait()["exitCode"], 7)
        output = command.output()
        self.assertEqual(output["text"], "begun\r\nword\r\n33 77\r\n")
        self.assertEqual(command.output(start=output["next"] - 7)["text"], "33 77\r\n")
        self.assertEqual(command.output(last=7)["text"], "33 77\r\n")
        self.assertEqual(plan.read("a.txt"), b"got word\n")
        self.assertEqual(plan.command(command.exec).show()["state"], "ended")
        other = plan.detach(["sleep", "1000"], limits={"time": 300_000})
        self.assertTrue(other.end()["aborted"])
        plan.detach(["sleep", "1000"], limits={"time": 300_000})
        self.assertEqual(plan.cancel(force=True)["state"], "cancelled")

    def test_a_closed_stream_ends_its_command(self) -> None:
        plan = self.plan()
        with plan.stream(["sh", "-c", "echo up; sleep 600"]) as command:
            next(iter(command))
        ended = next(event for event in plan.events() if event["event"] == "executed")
        self.assertTrue(ended["details"]["aborted"])

    def test_checkpoints_reviews_and_more_resources(self) -> None:
        plan = self.plan()
        plan.write("a.txt", "one")
        plan.checkpoint("good")
        plan.write("a.txt", "two")
        self.assertEqual(len(plan.checkpoints()), 1)
        plan.restore("good")
        self.assertEqual(plan.read("a.txt"), b"one")
        self.assertIsNone(plan.approval())
        digest = plan.request_review("please look")["digest"]
        plan.approve(digest)
        plan.write("a.txt", "three")
        with self.assertRaises(drydock.ConflictError):
            plan.apply(approved=True)
        other = self.app.parent / "other"
        other.mkdir()
        plan.add([str(other)])
        plan.write("new.txt", "x", resource="app")
        plan.rollback(only=["new.txt"])
        self.assertEqual([change["path"] for change in plan.diff()["changes"]], ["a.txt"])
        self.assertEqual([each["name"] for each in plan.show()["resources"]], ["app", "other"])
        plan.rollback()
        self.assertEqual(plan.diff()["changes"], [])

    def test_a_conflict_is_an_error_of_its_own(self) -> None:
        plan = self.plan()
        plan.write("a.txt", "mine")
        (self.app / "a.txt").write_text("theirs, and longer\n")
        with self.assertRaises(drydock.ConflictError) as caught:
            plan.apply()
        self.assertEqual(caught.exception.details["conflicts"][0]["path"], "a.txt")
        self.assertEqual((self.app / "a.txt").read_text(), "theirs, and longer\n")

    def test_long_calls_tell_their_progress(self) -> None:
        told: list[drydock.Progress] = []
        resource = {"location": str(self.app), "strategy": "filesystem_copy"}
        plan = client.create([resource], on_progress=told.append)
        plan.write("a.txt", "mine")
        plan.diff(on_progress=told.append)
        (self.app / "a.txt").write_text("theirs, and longer\n")
        with self.assertRaises(drydock.ConflictError):
            plan.apply(on_progress=told.append)
        self.assertEqual(plan.rollback(on_progress=told.append)["id"], plan.id)
        plan.cancel()
        about = {(each["operation"], each["planId"], each.get("resource")) for each in told}
        self.assertLessEqual({(name, plan.id, "app") for name in ("diffPlan", "applyPlan")}, about)

    def test_hints_are_in_words_of_the_client(self) -> None:
        plan = self.plan()
        hints = {}
        for code, call in {
            "UNKNOWN_PLAN": lambda: client.open("no-such-plan"),
            "UNKNOWN_CHECKPOINT": lambda: plan.restore("no-such-checkpoint"),
            "NO_SUCH_FILE": lambda: plan.read("no-such-file"),
            "NOT_IN_CONFLICT": lambda: plan.resolve("a.txt", "ours"),
        }.items():
            with self.assertRaises(drydock.DrydockError) as caught:
                call()
            self.assertEqual(caught.exception.code, code)
            hints[code] = caught.exception.hint
        self.assertEqual(hints["UNKNOWN_PLAN"], "client.plans(all=True) lists every plan, client.create() makes one.")
        self.assertTrue(hints["NO_SUCH_FILE"].startswith("plan.list() says"), hints)
        known = {"client": drydock.Client, "plan": drydock.Plan}
        of_the_api = [drydock._hint(hint) for hint in json.loads(os.environ["API_HINTS"])]
        for hint in [*hints.values(), *of_the_api]:
            self.assertNotIn("/v1/", hint)
            for owner, method in re.findall(r"\b(client|plan)\.(\w+)\(", hint):
                self.assertTrue(hasattr(known[owner], method), hint)

    def test_a_run_is_one_call(self) -> None:
        script = ["sh", "-c", "cat > a.txt; echo done"]
        ran = client.run([str(self.app)], script, changes="apply", input="new\n", message="by a run")
        self.assertEqual((ran["outcome"], ran["stdout"]), ("applied", "done\n"))
        self.assertEqual((self.app / "a.txt").read_text(), "new\n")
        kept = client.run([str(self.app)], ["sh", "-c", "rm a.txt; exit 3"], changes="apply", name="failed")
        self.assertEqual((kept["outcome"], kept["exitCode"]), ("kept", 3))
        client.open("failed").cancel()

    def test_databases(self) -> None:
        file = self.app / "shop.db"
        with sqlite3.connect(file) as database:
            database.execute("CREATE TABLE items (price)")
        with client.plan([str(file)], cancel=True) as plan:
            self.assertNotEqual(plan.path(), str(file))
            plan.sql("INSERT INTO items VALUES (7)")
            self.assertEqual(plan.sql("SELECT price FROM items")[0]["rows"], [[7]])
            self.assertEqual(len(list(plan.rows("items"))), 1)

    def test_reviews(self) -> None:
        plan = self.plan()
        plan.write("a.txt", "new\n")
        (change,) = plan.review_changes()
        target = {key: change[key] for key in ("resource", "path", "digest")}
        self.assertEqual(plan.vote("approved", [target])["changes"], 1)
        self.assertEqual(plan.look([{}], digest=plan.diff()["digest"])["changes"], 1)
        self.assertEqual([hunk["vote"] for hunk in plan.hunks("a.txt")["hunks"]], ["approved"])
        self.assertEqual((plan.content("a.txt", "before"), plan.content("a.txt", "after")), (b"old\n", b"new\n"))
        comment = plan.comment("why?", path="a.txt", resource="app", line=1, side="after")["id"]
        plan.edit_comment(comment, resolved=True)
        plan.remove_comment(comment)
        plan.ask_for_changes(plan.diff()["digest"], message="other ones")
        review = plan.review()
        self.assertEqual((review["verdict"]["message"], review["comments"]), ("other ones", []))
        applied = plan.apply(approved_part=True, check=["grep -q new a.txt"])
        self.assertEqual(applied["participants"][0]["changes"], 1)

    def test_writers_meet(self) -> None:
        plan = self.plan()
        plan.write("a.txt", "mine\n")
        self.assertEqual([each["path"] for each in plan.summary()["folders"]], ["."])
        self.assertTrue(plan.places())
        self.assertEqual((plan.scratch()["files"], plan.scratch_patch()), ([], b""))
        (self.app / "a.txt").write_text("theirs\n")
        self.assertEqual([each["path"] for each in plan.update()["marked"]], ["a.txt"])
        self.assertEqual(plan.resolve("a.txt", "ours")["how"], "ours")
        self.assertEqual(plan.apply()["state"], "applied")
        with self.assertRaises(drydock.DrydockError):
            plan.settle("abort")
        left = self.plan()
        self.assertEqual(left.abandon()["state"], "abandoned")

    def test_events_go_on_behind_a_cursor(self) -> None:
        plan = self.plan()
        created = next(each for each in client.events() if each["planId"] == plan.id)
        events = plan.events()
        self.assertEqual(next(events), created)
        self.assertEqual(created["event"], "created")
        events.close()
        seen: list[str] = []
        follower = plan.events(after=created["cursor"])
        thread = threading.Thread(target=lambda: seen.append(next(follower)["event"]))
        thread.start()
        plan.write("a.txt", "x")
        thread.join(30)
        self.assertEqual(seen, ["changed"])

    def test_the_machine(self) -> None:
        self.assertRegex(client.version(), r"^\d+\.\d+\.\d+")
        self.assertIn("filesystem_copy", [each["name"] for each in client.strategies()])
        self.assertIn("fs-file", [each["name"] for each in client.resource_types()])
        self.assertEqual(client.resource_type("fs-file")["name"], "fs-file")
        self.assertIn("checks", client.doctor())
        config = self.app / "drydock.yaml"
        config.write_text("sandbox: {}\n")
        self.assertEqual(client.trust(str(config))["file"], str(config))
        with self.assertRaises(drydock.DrydockError) as caught:
            client.check_strategy("no-such-strategy")
        self.assertEqual(caught.exception.code, "UNKNOWN_STRATEGY")
        self.assertEqual(client.purge(dry_run=True)["dryRun"], True)
        for answer in (client.recover(), client.scan(), client.cleanup_status()):
            self.assertIsInstance(answer, dict)

    def test_a_machine_without_a_fleet_has_no_hosts(self) -> None:
        calls = (
            client.hosts,
            lambda: client.host("web2"),
            lambda: client.drain_host("web2", undo=True),
            lambda: client.remove_host("web2"),
        )
        for call in calls:
            with self.assertRaises(drydock.DrydockError) as caught:
                call()
            self.assertEqual(caught.exception.code, "NO_FLEET")

    def test_without_a_server_it_says_so(self) -> None:
        with self.assertRaises(drydock.DrydockError) as caught:
            drydock.Client("/nowhere/api.sock").version()
        self.assertEqual(caught.exception.code, "NO_SERVER")
        self.assertIn("drydock serve", caught.exception.hint)

    def test_at_an_address_with_a_token(self) -> None:
        args = [os.environ["DRYDOCK"], "serve", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(args, stdout=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.wait)
            self.addCleanup(process.terminate)
            assert process.stdout is not None
            address = process.stdout.readline().split("//")[-1].strip().split("/")[0]
            token = Path(os.environ["DRYDOCK_STATE_DIR"], "serve", "token").read_text().strip()
            self.assertRegex(drydock.Client(address=address, token=token).version(), r"\d")
            with self.assertRaises(drydock.DrydockError) as caught:
                drydock.Client(address=address, token="wrong").version()
            self.assertEqual(caught.exception.code, "NO_TOKEN")
            process.terminate()


if __name__ == "__main__":
    unittest.main()

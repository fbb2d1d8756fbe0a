"""Strategies of Drydock in Python, on the standard library alone.

A strategy is a class with the methods of the contract, in Python's spelling:

    class Mine(Strategy):
        name = "mine"
        capabilities = {"commit": "one-phase"}

        def create(self, plan_id, resource): ...
        def read(self, ref, path): ...

    if __name__ == "__main__":
        serve(Mine)

A config names the program: `module: exec:./mine.py`. What each method has to do is in Drydock's
docs/writing-a-strategy.md; the protocol is in docs/strategies-in-other-languages.md.

Calls arrive one after the other, each in the main thread. `self.context` is what Drydock gives a strategy.
Paths that are not UTF-8 hold lone surrogates, as Python's own paths do: `os.fsencode` gives their bytes.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import threading
from typing import Any, Callable, Iterable, Mapping, Sequence

JSON = Any
Ref = dict[str, JSON]

_LARGEST_PLAIN_INTEGER = 2**53 - 1

_METHODS = {
    "create": "create",
    "read": "read",
    "write": "write",
    "diff": "diff",
    "commit": "commit",
    "rollback": "rollback",
    "checkpoint": "checkpoint",
    "restoreCheckpoint": "restore_checkpoint",
    "cleanup": "cleanup",
    "prepare": "prepare",
    "commitPrepared": "commit_prepared",
    "rollbackPrepared": "rollback_prepared",
    "query": "query",
    "changedRows": "changed_rows",
    "stat": "stat",
    "list": "list_entries",
    "readPart": "read_part",
    "writeFrom": "write_from",
    "makeFolder": "make_folder",
    "remove": "remove",
    "rename": "rename",
    "discardCheckpoint": "discard_checkpoint",
    "saved": "saved",
    "readSaved": "read_saved",
    "path": "path",
    "enter": "enter",
    "leave": "leave",
    "environment": "environment",
    "readOriginal": "read_original",
    "notes": "notes",
    "probe": "probe",
    "ways": "ways",
    "discardUndo": "discard_undo",
    "landed": "landed",
    "readLanded": "read_landed",
}


class DrydockError(Exception):
    """An error that Drydock understands by the name of its class. `facts` go with it."""

    def __init__(self, message: str, *, hint: str | None = None, **facts: JSON) -> None:
        super().__init__(message)
        self.facts = {**({} if hint is None else {"hint": hint}), **facts}


class UsageError(DrydockError):
    """The user asked for something that makes no sense."""


class UnsupportedError(DrydockError):
    """It can't be done here."""


class SandboxCreationError(DrydockError):
    """The sandbox could not be made; nothing is left of it."""


class SandboxCommitError(DrydockError):
    """The work could not land."""


class SandboxRollbackError(DrydockError):
    """What had landed, or the sandbox, could not be brought back."""


class SandboxStateError(DrydockError):
    """The sandbox is in a state in which this can't be done."""

    def __init__(self, message: str, *, from_state: str, to_state: str) -> None:
        super().__init__(message, **{"from": from_state, "to": to_state})


class SandboxConflictError(DrydockError):
    """The original changed meanwhile. `conflicts` are pairs of a path and a reason, all of them at once."""

    def __init__(self, conflicts: Iterable[tuple[str, str]]) -> None:
        listed = [{"path": path, "why": why} for path, why in conflicts]
        paths = ", ".join(conflict["path"] for conflict in listed)
        super().__init__(f"The original changed meanwhile: {paths}", conflicts=listed)


class Context:
    """What a strategy gets from Drydock."""

    def __init__(self, connection: _Connection, given: Mapping[str, JSON]) -> None:
        self._connection = connection
        self.state_dir: str = given["stateDir"]
        self.options: Mapping[str, JSON] = given["options"]
        self.policy: Mapping[str, JSON] = given["policy"]

    def record_intent(self, ref: Ref, places: Sequence[Mapping[str, str]]) -> None:
        """Records durably that this sandbox is about to exist at these places: `{"kind", "location"}`."""
        self._connection.ask("recordIntent", ref, places)

    def record_loss(self, ref: Ref, why: str) -> None:
        """Records that the work of a sandbox is lost, and why."""
        self._connection.ask("recordLoss", ref, why)

    def failpoint(self, name: str) -> None:
        """A step that touches the world, with a name of its own; tests end the process here."""
        self._connection.ask("failpoint", name)

    def secrets_of(self, plan_id: str) -> Mapping[str, str]:
        """The passwords of a plan's resources, by the id of the resource."""
        return self._connection.ask("secretsOf", plan_id)

    def progress(self, task: str, done: float, total: float | None = None) -> None:
        """Tells how far long work is."""
        told = {"task": task, "done": done, **({} if total is None else {"total": total})}
        self._connection.tell_progress(told)

    @property
    def is_interrupted(self) -> bool:
        """Whether the user interrupts the call. Look at it in long work before the decision."""
        return self._connection.is_interrupted


class Strategy:
    """The base of a strategy. A subclass has the methods of the contract that it needs."""

    name: str
    version: str | None = None
    capabilities: Mapping[str, JSON]
    options_schema: Mapping[str, JSON] | None = None

    def __init__(self, context: Context) -> None:
        self.context = context


def sandbox_id_for(plan_id: str, resource_id: str) -> str:
    """The id of the sandbox that a plan has of a resource."""
    return f"{plan_id}-{resource_id}"


def assert_resource_path(path: str) -> str:
    """A path inside a resource: relative, below the root, without empty, `.` or `..` names; "." is the root."""
    trimmed = path[2:] if path.startswith("./") else path
    names = trimmed.split("/")
    if path == "." or not ("\0" in path or any(name in ("", ".", "..") for name in names)):
        return trimmed
    raise UsageError(
        f"The path {path!r} is not one inside the resource.",
        hint="Give a path relative to the resource, like src/app.ts.",
        code="BAD_PATH",
    )


def serve(strategy: type[Strategy]) -> None:
    """Serves a strategy on standard input and output until the input ends."""
    _Connection(strategy).serve()


class _Connection:
    """The program's side of the protocol. A thread reads, so that an interruption arrives during a call."""

    def __init__(self, strategy: type[Strategy]) -> None:
        self._class = strategy
        self._input = os.fdopen(os.dup(0), encoding="utf-8", errors="strict")
        self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
        # Whatever the strategy prints must not get between the messages.
        os.dup2(2, 1)
        self._calls: queue.Queue[dict[str, JSON] | None] = queue.Queue()
        self._answers: queue.Queue[dict[str, JSON]] = queue.Queue()
        self._interrupted: set[int] = set()
        self._call = 0
        self._asks = 0

    def serve(self) -> None:
        self._send({"strategy": _description(self._class)})
        threading.Thread(target=self._read, daemon=True).start()
        opened = self._calls.get()
        if opened is None:
            return
        strategy = self._class(Context(self, opened["open"]))
        while (message := self._calls.get()) is not None:
            self._answer(strategy, message)

    @property
    def is_interrupted(self) -> bool:
        return self._call in self._interrupted

    def ask(self, method: str, *arguments: JSON) -> JSON:
        self._asks += 1
        self._send({"call": self._call, "ask": self._asks, "method": method, "arguments": arguments})
        answer = self._answers.get()
        if "error" in answer:
            raise _AskFailed(answer["error"])
        return answer["result"]

    def tell_progress(self, progress: Mapping[str, JSON]) -> None:
        self._send({"call": self._call, "progress": progress})

    def _read(self) -> None:
        for line in self._input:
            message = json.loads(line, object_hook=_unmarked)
            if "ask" in message:
                self._answers.put(message)
            elif "cancel" in message:
                self._interrupted.add(message["cancel"])
            else:
                self._calls.put(message)
        self._calls.put(None)

    def _answer(self, strategy: Strategy, message: dict[str, JSON]) -> None:
        self._call = message["call"]
        try:
            method: Callable[..., JSON] = getattr(strategy, _METHODS[message["method"]])
            result = method(*message["arguments"])
        except Exception as error:  # Every failure is an answer.
            self._send({"call": self._call, "error": _plain(error)})
        else:
            self._send({"call": self._call, "result": result})
        self._interrupted.discard(self._call)

    def _send(self, message: Mapping[str, JSON]) -> None:
        # Lone surrogates are written as escapes, so the line is ASCII.
        self._output.write(json.dumps(_marked(message)) + "\n")
        self._output.flush()


def _description(strategy: type[Strategy]) -> dict[str, JSON]:
    optional = {"version": strategy.version, "optionsSchema": strategy.options_schema}
    return {
        "name": strategy.name,
        "capabilities": strategy.capabilities,
        "methods": [name for name, spelling in _METHODS.items() if hasattr(strategy, spelling)],
        **{key: value for key, value in optional.items() if value is not None},
    }


class _AskFailed(DrydockError):
    """Drydock refused what the strategy asked for; the error goes back as it came."""

    def __init__(self, error: Mapping[str, JSON]) -> None:
        facts = {key: value for key, value in error.items() if key not in ("name", "message")}
        super().__init__(error["message"], **facts)
        self.drydock_name = error["name"]


def _plain(error: Exception) -> dict[str, JSON]:
    name = error.drydock_name if isinstance(error, _AskFailed) else type(error).__name__
    facts = error.facts if isinstance(error, DrydockError) else {}
    return {**facts, "name": name, "message": str(error) or name}


def _marked(value: JSON) -> JSON:
    """Bytes and large integers, which JSON does not have, are marked."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"~bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST_PLAIN_INTEGER:
        return {"~int": str(value)}
    if isinstance(value, Mapping):
        return {key: _marked(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_marked(member) for member in value]
    return value


def _unmarked(value: dict[str, JSON]) -> JSON:
    if len(value) != 1:
        return value
    if isinstance(value.get("~bytes"), str):
        return base64.b64decode(value["~bytes"])
    return int(value["~int"]) if isinstance(value.get("~int"), str) else value

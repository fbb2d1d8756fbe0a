"""Drydock from Python, by its HTTP API, on the standard library alone.

    import drydock

    with drydock.plan(["shop"], name="lower-tax") as plan:
        plan.write("src/tax.txt", "7 %\\n")
        tests = plan.run(["npm", "test"])
        if tests["exitCode"] == 0:
            plan.apply(message="lower tax")

A server has to be running: `drydock serve`, at its socket in the state directory or at an address with a token;
`Client.start()` runs one of its own. Documents are the ones that `drydock --json` prints, as dictionaries; those
that matter most have types here. docs/api.md has all operations.

Paths are text; bytes that are not UTF-8 are lone surrogates, as in `os.fsdecode`.
"""

from __future__ import annotations

import base64
import http.client
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from typing import Any, BinaryIO, Callable, Iterable, Iterator, Literal, Mapping, Sequence, TypedDict, Union
from urllib.parse import quote

__all__ = ["Client", "Command", "ConflictError", "DetachedCommand", "DrydockError", "Plan", "Progress", "plan"]

JSON = Any
# How many seconds one request waits for the end of a command.
_LONGEST_WAIT = 60
Content = Union[str, bytes, BinaryIO, Iterable[bytes]]


class PlanInfo(TypedDict, total=False):
    id: str
    name: str
    state: str
    readOnly: bool
    createdAt: str
    message: str
    labels: dict[str, str]
    resources: list[dict[str, JSON]]
    warnings: list[str]


class Change(TypedDict, total=False):
    resource: str
    path: str
    operation: Literal["added", "modified", "deleted", "typechanged"]
    kind: str
    before: dict[str, JSON]
    after: dict[str, JSON]
    binary: bool
    warnings: list[str]


class Diff(TypedDict, total=False):
    planId: str
    digest: str
    stats: dict[str, int]
    changes: list[Change]
    saved: dict[str, JSON]


class Entry(TypedDict, total=False):
    path: str
    kind: str
    size: int
    mode: int
    mtime: str
    target: str


class Captured(TypedDict, total=False):
    planId: str
    exitCode: int
    signal: str
    stdout: str
    stderr: str
    truncated: dict[str, bool]
    durationMs: float


class Ran(Captured, total=False):
    outcome: Literal["applied", "kept", "discarded", "unchanged"]
    diff: Diff
    apply: Applied
    stays: list[str]
    landed: bool
    scratch: dict[str, JSON]


class Explanation(TypedDict, total=False):
    profiles: list[str]
    resources: list[str]
    scratch: list[str]
    ownHome: dict[str, str]
    kept: list[dict[str, str]]
    writtenBack: list[dict[str, str]]
    caches: dict[str, JSON]
    protects: list[dict[str, str]]
    denied: list[dict[str, str]]
    readable: list[dict[str, str]]
    sockets: list[dict[str, str]]
    variables: dict[str, list[dict[str, str]]]
    network: Literal["open", "none", "allow"]
    networkFrom: str
    reachable: list[dict[str, str]]
    published: list[dict[str, JSON]]
    channel: bool
    channelFrom: str
    strict: bool
    limits: dict[str, int]
    limitsFrom: dict[str, str]
    refused: list[dict[str, str]]


class RunEnd(TypedDict):
    exitCode: int
    said: str


class DetachedInfo(TypedDict, total=False):
    exec: str
    command: str
    state: Literal["running", "ended", "killed"]
    since: str
    pid: int
    endedAt: str
    exitCode: int
    signal: str
    durationMs: float
    aborted: bool
    limit: str
    denied: list[dict[str, JSON]]
    run: RunEnd


# "from" is no name for a member of a class.
Output = TypedDict("Output", {"text": str, "from": int, "next": int, "omitted": int, "isExcerpt": bool}, total=False)


class Applied(TypedDict, total=False):
    planId: str
    state: str
    message: str
    participants: list[dict[str, JSON]]
    stays: list[dict[str, JSON]]
    attention: list[dict[str, str]]
    warnings: list[str]


class Event(TypedDict, total=False):
    planId: str
    at: str
    actor: str
    pid: int
    event: str
    details: dict[str, JSON]
    cursor: str


class Progress(TypedDict, total=False):
    task: str
    done: int
    total: int
    operation: str
    planId: str
    resource: str


OnProgress = Callable[[Progress], object]


class DrydockError(Exception):
    """A problem that the server tells of. `code` is that of the API, `hint` says what to do in words of this module."""

    def __init__(self, problem: Mapping[str, JSON]) -> None:
        self.code: str = problem.get("code", "UNKNOWN")
        self.hint: str = _hint(problem.get("hint", ""))
        self.status: int = problem.get("status", 0)
        self.details: Mapping[str, JSON] = problem.get("details", {})
        super().__init__(problem.get("detail", "The server gave no reason."))


class ConflictError(DrydockError):
    """An original changed meanwhile, or what would land is not what was reviewed. Nothing was changed."""


class Client:
    """A connection to a server: at a socket, or at an address with a token. Each call has a connection of its own."""

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None = None,
        *,
        address: str | None = None,
        token: str | None = None,
        timeout: float | None = None,
    ) -> None:
        self._address = address
        self._token = token
        self._timeout = timeout
        self._socket = os.fspath(socket_path) if socket_path is not None else _default_socket()

    @classmethod
    @contextmanager
    def start(cls, program: str = "drydock", *, cwd: str | None = None) -> Iterator[Client]:
        """Runs a server of its own for the block, on the usual state directory, and ends it afterwards."""
        folder = tempfile.mkdtemp(prefix="drydock-")
        path = os.path.join(folder, "api.sock")
        server = subprocess.Popen(
            [program, "serve", "--socket", path], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None and server.stderr is not None
            if not server.stdout.readline():
                raise DrydockError({"code": "NO_SERVER", "detail": server.stderr.read().strip()})
            yield cls(path)
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate()
            shutil.rmtree(folder, ignore_errors=True)

    # Plans

    def create(
        self,
        resources: Iterable[str | Mapping[str, str]],
        *,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        read_only: bool | None = None,
        allow_irreversible: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> Plan:
        """Makes a plan. A resource is a location, or a mapping with location, name, type, strategy, from."""
        body = {
            "resources": [_resource(each) for each in resources],
            "name": name,
            "labels": labels,
            "readOnly": read_only,
            "allowIrreversible": allow_irreversible,
        }
        info = self._json("POST", "/plans", body=body, on_progress=on_progress)
        return Plan(self, info["id"])

    def run(
        self,
        resources: Iterable[str | Mapping[str, str]],
        command: Sequence[str],
        *,
        changes: Literal["apply", "keep", "discard"] = "keep",
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        allow_irreversible: bool | None = None,
        on_progress: OnProgress | None = None,
        **options: JSON,
    ) -> Ran:
        """Makes a plan, runs a command inside, and lands, keeps or throws away what it changed.

        The changes land only if the command succeeds; `outcome` says what became of them. Options are those of
        `Plan.run`, and message, squash, allow, ignoreOutside.
        """
        plan = _present(
            resources=[_resource(each) for each in resources],
            name=name,
            labels=labels,
            allowIrreversible=allow_irreversible,
        )
        body = {"plan": plan, "command": [*command], "changes": changes, **options}
        return self._json("POST", "/run", body=body, on_progress=on_progress)

    def explain(
        self,
        resources: Iterable[str | Mapping[str, str]],
        command: Sequence[str] | None = None,
        **options: JSON,
    ) -> Explanation:
        """What a command of `run` would be allowed, and what says so. Makes no plan, and runs nothing."""
        body = {"resources": [_resource(each) for each in resources], "command": command, **options}
        return self._json("POST", "/explain", body=body)

    def open(self, plan: str) -> Plan:
        """The plan with this id, beginning of an id, or name."""
        return Plan(self, self._json("GET", f"/plans/{_part(plan)}")["id"])

    @contextmanager
    def plan(
        self, resources: Iterable[str | Mapping[str, str]], *, cancel: bool = False, **options: JSON
    ) -> Iterator[Plan]:
        """Makes a plan for a block. Work that has not landed at its end stays in the plan; with `cancel` it goes."""
        made = self.create(resources, **options)
        try:
            yield made
        finally:
            if cancel and made.show()["state"] == "open":
                made.cancel()

    def plans(self, *, all: bool = False, label: str | None = None, limit: int | None = None) -> list[PlanInfo]:
        return self._json("GET", "/plans", query={"all": all or None, "label": label, "limit": limit})["plans"]

    def events(self, *, plan: str | None = None, after: str | None = None) -> Iterator[Event]:
        """What happens to plans, of every process, in order. Give the last `cursor` as `after` to go on behind it."""
        path = "/events" if plan is None else f"/plans/{_part(plan)}/events"
        for name, data in self._stream("GET", path, query={"after": after}):
            if name == "problem":
                raise _error(data)
            yield data

    # The machine

    def recover(self) -> dict[str, JSON]:
        return self._json("POST", "/recover", body={})

    def scan(self, *, older_than_ms: int | None = None) -> dict[str, JSON]:
        return self._json("GET", "/cleanup", query={"olderThanMs": older_than_ms})

    def purge(
        self,
        *,
        older_than_ms: int | None = None,
        undo_older_than_ms: int | None = None,
        dry_run: bool | None = None,
        force: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> dict[str, JSON]:
        body = {
            "olderThanMs": older_than_ms,
            "undoOlderThanMs": undo_older_than_ms,
            "dryRun": dry_run,
            "force": force,
        }
        return self._json("POST", "/cleanup/purge", body=body, on_progress=on_progress)

    def cleanup_status(self) -> dict[str, JSON]:
        return self._json("GET", "/cleanup/status")

    def strategies(self) -> list[dict[str, JSON]]:
        return self._json("GET", "/strategies")["strategies"]

    def check_strategy(
        self, strategy: str, *, resource: str | None = None, on_progress: OnProgress | None = None
    ) -> dict[str, JSON]:
        """Runs the conformance suite on a strategy: by its name, or by MODULE:CLASS."""
        body = {"strategy": strategy, "resource": resource}
        return self._json("POST", "/strategies/check", body=body, on_progress=on_progress)

    def trust(self, file: str) -> dict[str, JSON]:
        """A person's word that a config may be used as it is now."""
        return self._json("POST", "/trust", body={"file": os.path.abspath(file)})

    def resource_types(self) -> list[dict[str, JSON]]:
        return self._json("GET", "/resource-types")["types"]

    def resource_type(self, name: str) -> dict[str, JSON]:
        return self._json("GET", f"/resource-types/{_part(name)}")

    def doctor(self) -> dict[str, JSON]:
        return self._json("GET", "/doctor")

    def hosts(self) -> dict[str, JSON]:
        """The hosts of the fleet: `host` is the name of this one, `hosts` are all."""
        return self._json("GET", "/hosts")

    def host(self, name: str) -> dict[str, JSON]:
        """A host, what it lends and which plans wait for it."""
        return self._json("GET", f"/hosts/{_part(name)}")

    def drain_host(self, name: str, *, undo: bool | None = None) -> dict[str, JSON]:
        """Lets a host take no new sandboxes, or with undo take them again."""
        return self._json("POST", f"/hosts/{_part(name)}/drain", body={"undo": undo})

    def remove_host(self, name: str) -> None:
        """Forgets a host that is gone for good."""
        self._json("DELETE", f"/hosts/{_part(name)}")

    def version(self) -> str:
        return self._json("GET", "/version")["version"]

    # Requests

    def _json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, JSON] | None = None,
        body: JSON = None,
        on_progress: OnProgress | None = None,
    ) -> JSON:
        if on_progress is not None:
            for name, data in self._stream(method, path, query=query, body=body):
                if name == "done":
                    return data
                if name == "problem":
                    raise _error(data)
                on_progress(data)
            raise DrydockError({"code": "NO_ANSWER", "detail": "The server ended before it had answered."})
        with self._request(method, path, query=query, body=body) as response:
            return json.loads(response.read())

    @contextmanager
    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, JSON] | None = None,
        body: Mapping[str, JSON] | None = None,
        content: Content | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[http.client.HTTPResponse]:
        connection = self._connection()
        sent = dict(headers or {})
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        data: JSON = None
        if body is not None:
            sent["Content-Type"] = "application/json"
            data = json.dumps(_present(**body)).encode()
        elif content is not None:
            sent["Content-Type"] = "application/octet-stream"
            data = content.encode() if isinstance(content, str) else content
        try:
            try:
                connection.request(method, f"/v1{path}{_query(query)}", body=data, headers=sent)
            except (FileNotFoundError, ConnectionRefusedError) as error:
                place = self._address or self._socket
                raise DrydockError(
                    {
                        "code": "NO_SERVER",
                        "detail": f"No server listens at {place}.",
                        "hint": "Start one with 'drydock serve', or use Client.start().",
                    }
                ) from error
            except BrokenPipeError:
                # The server has answered before it took all of the content: its answer says why.
                pass
            # Closed too: it would keep the connection open.
            with connection.getresponse() as response:
                if response.status >= 400:
                    raise _error(_problem(response))
                yield response
        finally:
            connection.close()

    def _stream(
        self, method: str, path: str, *, query: Mapping[str, JSON] | None = None, body: JSON = None
    ) -> Iterator[tuple[str, JSON]]:
        """Server-sent events: their names and data. Closing the iterator closes the connection."""
        headers = {"Accept": "text/event-stream"}
        with self._request(method, path, query=query, body=body, headers=headers) as response:
            name, data = "", ""
            for line in response:
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    name = text[7:]
                elif text.startswith("data: "):
                    data = text[6:]
                elif text == "" and name != "":
                    yield name, json.loads(data)
                    name = ""

    def _connection(self) -> http.client.HTTPConnection:
        if self._address is None:
            return _SocketConnection(self._socket, self._timeout)
        return http.client.HTTPConnection(self._address, timeout=self._timeout)


class Plan:
    """A plan. A resource has to be named only where the plan has several."""

    def __init__(self, client: Client, plan_id: str) -> None:
        self._client = client
        self.id = plan_id

    def show(self) -> PlanInfo:
        return self._get("")

    def add(
        self,
        resources: Iterable[str | Mapping[str, str]],
        *,
        allow_irreversible: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> PlanInfo:
        """Takes more resources in, with what commands of the plan wrote there."""
        body = {"resources": [_resource(each) for each in resources], "allowIrreversible": allow_irreversible}
        return self._post("/resources", body, on_progress)

    def places(self) -> list[dict[str, JSON]]:
        """Everything that the plan has on this machine and on servers."""
        return self._get("/places")["places"]

    def path(self, resource: str | None = None) -> str:
        """Where programs find the sandbox: a folder or a URL."""
        return self._get("/path", resource=resource)["path"]

    # Files

    def read(self, path: str, *, resource: str | None = None, offset: int = 0, length: int | None = None) -> bytes:
        """The content of a file, or `length` bytes of it from `offset` on."""
        headers = {}
        if offset > 0 or length is not None:
            headers["Range"] = f"bytes={offset}-{'' if length is None else offset + length - 1}"
        query = {"path": path, "resource": resource}
        with self._client._request("GET", self._at("/file"), query=query, headers=headers) as response:
            return response.read()

    def write(self, path: str, content: Content, *, resource: str | None = None) -> Change:
        """Writes one file, all of it or nothing: text, bytes, an open file, or pieces of bytes."""
        query = {"path": path, "resource": resource}
        with self._client._request("PUT", self._at("/file"), query=query, content=content) as response:
            return json.loads(response.read())

    def stat(self, path: str, *, resource: str | None = None) -> Entry:
        return self._get("/entry", path=path, resource=resource)

    def list(
        self,
        path: str = ".",
        *,
        resource: str | None = None,
        recursive: bool = False,
        match: str | None = None,
        prefix: str | None = None,
    ) -> Iterator[Entry]:
        """The entries of a folder, page by page as they are asked for."""
        query = {"path": path, "resource": resource, "recursive": recursive or None, "match": match, "prefix": prefix}
        yield from self._pages("/entries", "entries", query)

    def remove(self, path: str, *, resource: str | None = None, recursive: bool = False) -> None:
        query = {"path": path, "resource": resource, "recursive": recursive or None}
        self._client._json("DELETE", self._at("/entry"), query=query)

    def rename(self, path: str, to: str, *, resource: str | None = None) -> None:
        self._post("/rename", {"from": path, "to": to, "resource": resource})

    def make_folder(self, path: str, *, resource: str | None = None) -> Entry:
        return self._post("/folder", {"path": path, "resource": resource})

    def sql(self, script: str, *, resource: str | None = None) -> list[dict[str, JSON]]:
        """The results of statements in the sandbox of a database."""
        return self._post("/sql", {"script": script, "resource": resource})["results"]

    # Commands

    def run(self, command: Sequence[str], *, input: str | None = None, **options: JSON) -> Captured:
        """Runs a command inside and captures its output. A command that fails is no error.

        Options are those of the API: cwd, environment, network, strict, unconfined, profiles, limits, checkpoint,
        maxOutputBytes.
        """
        return self._post("/exec", {"command": [*command], "input": input, **options})

    def stream(self, command: Sequence[str], **options: JSON) -> Command:
        """Runs a command inside, and gives its output as it comes; see `Command`."""
        return Command(self._client, self._at("/exec-stream"), {"command": [*command], **options})

    def detach(self, command: Sequence[str], **options: JSON) -> DetachedCommand:
        """Starts a command inside that goes on without this program and the server; see `DetachedCommand`.

        Options are those of `run`, and terminal, the size of its terminal: {"rows": 24, "columns": 80}.
        """
        info = self._post("/commands", {"command": [*command], **options})
        return DetachedCommand(self._client, self.id, info["exec"])

    def commands(self) -> list[DetachedCommand]:
        """The detached commands that run inside, whoever started them."""
        running = self._get("/commands")["commands"]
        return [DetachedCommand(self._client, self.id, info["exec"]) for info in running]

    def command(self, exec: str) -> DetachedCommand:
        """The detached command with this id, also one that has ended."""
        return DetachedCommand(self._client, self.id, self._get(f"/commands/{_part(exec)}")["exec"])

    def explain(self, command: Sequence[str] | None = None, **options: JSON) -> Explanation:
        """What a command inside would be allowed, and what says so. Runs nothing.

        Options are network, strict, profiles and limits.
        """
        return self._post("/explain", {"command": command, **options})

    # Changes

    def diff(
        self,
        *,
        paths: Sequence[str] | None = None,
        checkpoint: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> Diff:
        """What would change, all pages together. Its digest binds an apply to it.

        With a checkpoint: what that holds, and as `saved` what changed since.
        """
        query = {"paths": paths, "checkpoint": checkpoint}
        first: Diff = self._client._json("GET", self._at("/diff"), query=query, on_progress=on_progress)
        changes = [*first["changes"]]
        cursor = first.get("next")
        while cursor is not None:
            page = self._get("/diff", **query, cursor=cursor)
            changes.extend(page["changes"])
            cursor = page.get("next")
        return {**first, "changes": changes}

    def summary(
        self, *, paths: Sequence[str] | None = None, checkpoint: str | None = None
    ) -> dict[str, JSON]:
        """What would change, or what a checkpoint holds, by folders."""
        return self._get("/summary", paths=paths, checkpoint=checkpoint)

    def patch(self, *, paths: Sequence[str] | None = None, checkpoint: str | None = None) -> bytes:
        """The changes, or those of a checkpoint, as a patch that `git apply` takes."""
        query = {"paths": paths, "checkpoint": checkpoint}
        with self._client._request("GET", self._at("/patch"), query=query) as response:
            return response.read()

    def scratch(self) -> dict[str, JSON]:
        """What commands wrote outside of the plan."""
        return self._get("/scratch")

    def scratch_patch(self, *, paths: Sequence[str] | None = None) -> bytes:
        """The same as a patch."""
        with self._client._request("GET", self._at("/scratch/patch"), query={"paths": paths}) as response:
            return response.read()

    def checkpoint(self, label: str | None = None, *, on_progress: OnProgress | None = None) -> dict[str, JSON]:
        return self._post("/checkpoints", {"label": label}, on_progress)

    def checkpoints(self) -> list[dict[str, JSON]]:
        return self._get("/checkpoints")["checkpoints"]

    def restore(self, checkpoint: str, *, on_progress: OnProgress | None = None) -> dict[str, JSON]:
        return self._post(f"/checkpoints/{_part(checkpoint)}/restore", {}, on_progress)

    # Landing

    def apply(
        self,
        *,
        message: str | None = None,
        digest: str | None = None,
        approved: bool | None = None,
        approved_part: bool | None = None,
        only: Sequence[str] | None = None,
        allow: Sequence[str] | None = None,
        check: Sequence[str] | None = None,
        checks: bool | None = None,
        squash: bool | None = None,
        update: bool | None = None,
        dry_run: bool | None = None,
        allow_irreversible: bool | None = None,
        after_restart: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> Applied:
        """Lands everything, or nothing: then it raises."""
        body = {
            "message": message,
            "digest": digest,
            "approved": approved,
            "approvedPart": approved_part,
            "only": only,
            "allow": allow,
            "check": check,
            "checks": checks,
            "squash": squash,
            "update": update,
            "dryRun": dry_run,
            "allowIrreversible": allow_irreversible,
            "afterRestart": after_restart,
        }
        return self._post("/apply", body, on_progress)

    def update(self, *, on_progress: OnProgress | None = None) -> dict[str, JSON]:
        """Merges into the plan what other writers changed meanwhile."""
        return self._post("/update", {}, on_progress)

    def resolve(
        self, path: str, how: Literal["ours", "theirs", "keep-both"], *, resource: str | None = None
    ) -> dict[str, JSON]:
        """Settles a path that an update marked or could not merge."""
        return self._post("/resolve", {"path": path, "how": how, "resource": resource})

    def undo(self, *, leave: Sequence[str] = (), on_progress: OnProgress | None = None) -> Applied:
        """Takes the last landing back; what can't be taken back stays if `leave` names it."""
        return self._post("/undo", {"leave": list(leave)}, on_progress)

    def rollback(
        self,
        *,
        only: Sequence[str] | None = None,
        rejected: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> PlanInfo:
        """Throws the work away, or these paths of it, or what votes reject; the plan stays open."""
        return self._post("/rollback", {"only": only, "rejected": rejected}, on_progress)

    def cancel(self, *, force: bool | None = None, on_progress: OnProgress | None = None) -> PlanInfo:
        """Throws the work away and closes the plan; with `force` its detached command ends first."""
        return self._post("/cancel", {"force": force}, on_progress)

    def request_review(self, message: str | None = None) -> dict[str, JSON]:
        return self._post("/review", {"message": message})

    def approve(self, digest: str, *, allow: Sequence[str] | None = None) -> dict[str, JSON]:
        """A person's word that exactly what has this digest may land."""
        return self._post("/approve", {"digest": digest, "allow": allow})

    def approval(self) -> dict[str, JSON] | None:
        return self._get("/approval")["approval"]

    # What persons say about the changes before they land

    def review(self) -> dict[str, JSON]:
        """What was said: the verdict and the comments."""
        return self._get("/review")

    def review_changes(self, *, paths: Sequence[str] | None = None) -> Iterator[dict[str, JSON]]:
        """The changes with their votes, page by page as they are asked for."""
        yield from self._pages("/review/changes", "changes", {"paths": paths})

    def hunks(self, path: str, *, resource: str | None = None) -> dict[str, JSON]:
        return self._get("/review/hunks", path=path, resource=resource)

    def rows(self, path: str, *, resource: str | None = None) -> Iterator[dict[str, JSON]]:
        """The changed rows at a path of the diff of a database, page by page as they are asked for."""
        yield from self._pages("/review/rows", "rows", {"path": path, "resource": resource})

    def content(self, path: str, side: Literal["before", "after"], *, resource: str | None = None) -> bytes:
        """The content of a file before or after its change."""
        query = {"path": path, "side": side, "resource": resource}
        with self._client._request("GET", self._at("/review/content"), query=query) as response:
            return response.read()

    def vote(
        self,
        vote: Literal["approved", "rejected", "none"],
        targets: Sequence[Mapping[str, str]],
        *,
        digest: str | None = None,
    ) -> dict[str, JSON]:
        """Approves or rejects changes: resource, path, digest and hunk each; those without a digest need `digest`."""
        return self._post("/review/votes", {"vote": vote, "targets": [*targets], "digest": digest})

    def look(self, targets: Sequence[Mapping[str, str]], *, digest: str | None = None) -> dict[str, JSON]:
        """Records that the user has looked at changes."""
        return self._post("/review/looks", {"targets": [*targets], "digest": digest})

    def comment(self, text: str, **place: JSON) -> dict[str, JSON]:
        """Says something about the plan, or about a place in it: resource, path, side, line."""
        return self._post("/review/comments", {"text": text, **place})

    def edit_comment(
        self, comment: str, *, text: str | None = None, resolved: bool | None = None
    ) -> dict[str, JSON]:
        body = {"text": text, "resolved": resolved}
        return self._client._json("PUT", self._at(f"/review/comments/{_part(comment)}"), body=body)

    def remove_comment(self, comment: str) -> None:
        self._client._json("DELETE", self._at(f"/review/comments/{_part(comment)}"))

    def ask_for_changes(self, digest: str, *, message: str | None = None) -> dict[str, JSON]:
        """Records that the user wants other changes than those with this digest."""
        return self._post("/review/changes-asked", {"digest": digest, "message": message})

    def settle(self, how: Literal["commit", "abort"]) -> dict[str, JSON]:
        return self._post("/settle", {"how": how})

    def abandon(self) -> dict[str, JSON]:
        return self._post("/abandon", {})

    def log(self) -> list[dict[str, JSON]]:
        return self._get("/log")["entries"]

    def events(self, *, after: str | None = None) -> Iterator[Event]:
        return self._client.events(plan=self.id, after=after)

    # Requests

    def _at(self, path: str) -> str:
        return f"/plans/{_part(self.id)}{path}"

    def _get(self, at: str, **query: JSON) -> JSON:
        return self._client._json("GET", self._at(at), query=query)

    def _post(self, at: str, body: Mapping[str, JSON], on_progress: OnProgress | None = None) -> JSON:
        return self._client._json("POST", self._at(at), body=body, on_progress=on_progress)

    def _pages(self, at: str, member: str, query: Mapping[str, JSON]) -> Iterator[JSON]:
        cursor = None
        while True:
            page = self._get(at, **query, cursor=cursor)
            yield from page[member]
            cursor = page.get("next")
            if cursor is None:
                return


class Command:
    """A command whose output comes as a stream: iterate over pairs of "stdout" or "stderr" and bytes.

    After the last pair `result` has its end: `exitCode`, `signal`. Leaving the `with` block, or closing it, ends a
    command that still runs.
    """

    def __init__(self, client: Client, path: str, body: Mapping[str, JSON]) -> None:
        self._client = client
        self._events = client._stream("POST", path, body=body)
        self.result: dict[str, JSON] | None = None
        name, started = next(self._events)
        if name == "problem":
            raise _error(started)
        self._exec = started["exec"]

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        for name, data in self._events:
            if name == "problem":
                raise _error(data)
            if name == "ended":
                self.result = data
            else:
                yield name, base64.b64decode(data["base64"])

    def wait(self) -> dict[str, JSON]:
        """Reads the rest of its output, and returns how it ended."""
        for _ in self:
            pass
        assert self.result is not None
        return self.result

    def write(self, content: str | bytes, *, end: bool = False) -> None:
        """Gives it input; with `end` it is the last."""
        query = {"end": end or None}
        with self._client._request("POST", self._at("stdin"), query=query, content=content) as response:
            response.read()

    def kill(self, signal_name: str = "SIGTERM") -> None:
        self._client._json("POST", self._at("signal"), body={"signal": signal_name})

    def resize(self, rows: int, columns: int) -> None:
        self._client._json("POST", self._at("resize"), body={"rows": rows, "columns": columns})

    def close(self) -> None:
        self._events.close()  # type: ignore[attr-defined]

    def _at(self, what: str) -> str:
        return f"/execs/{_part(self._exec)}/{what}"


class DetachedCommand:
    """A command that goes on without this program and without the server, at a terminal of its own.

    The last 256 KiB of what it writes are kept, also when it has ended.
    """

    def __init__(self, client: Client, plan: str, exec: str) -> None:
        self._client = client
        self.plan_id = plan
        self.exec = exec

    def show(self) -> DetachedInfo:
        """How it is now: running, ended, or killed together with the process that keeps it."""
        return self._client._json("GET", self._at())

    def output(self, *, start: int | None = None, last: int | None = None) -> Output:
        """What it wrote, from this byte on, or the last bytes of it. `os.fsencode(output["text"])` are the bytes."""
        return self._client._json("GET", self._at("/output"), query={"from": start, "last": last})

    def write(self, content: str | bytes) -> None:
        """Types at its terminal, and returns when that has taken it."""
        with self._client._request("POST", self._at("/input"), content=content) as response:
            response.read()

    def resize(self, rows: int, columns: int) -> None:
        self._client._json("POST", self._at("/resize"), body={"rows": rows, "columns": columns})

    def wait(self, seconds: float | None = None) -> DetachedInfo:
        """Waits for its end, or so long; then its `state` may still be running."""
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            left = _LONGEST_WAIT if until is None else min(_LONGEST_WAIT, max(0, math.ceil(until - time.monotonic())))
            info: DetachedInfo = self._client._json("GET", self._at("/end"), query={"seconds": left})
            if info["state"] != "running" or (until is not None and time.monotonic() >= until):
                return info

    def end(self) -> DetachedInfo:
        """Ends it: SIGTERM first, and SIGKILL after five seconds."""
        return self._client._json("POST", self._at("/end"), body={})

    def _at(self, what: str = "") -> str:
        return f"/plans/{_part(self.plan_id)}/commands/{_part(self.exec)}{what}"


@contextmanager
def plan(
    resources: Iterable[str | Mapping[str, str]], *, client: Client | None = None, **options: JSON
) -> Iterator[Plan]:
    """Makes a plan for a block, by the server at its usual socket; see `Client.plan`."""
    with (client or Client()).plan(resources, **options) as made:
        yield made


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


def _default_socket() -> str:
    state = os.environ.get("DRYDOCK_STATE_DIR")
    if state is None:
        home = os.environ.get("XDG_STATE_HOME", "")
        base = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), ".local", "state")
        state = os.path.join(base, "drydock")
    return os.path.join(state, "serve", "api.sock")


def _present(**members: JSON) -> dict[str, JSON]:
    return {name: value for name, value in members.items() if value is not None}


def _resource(given: str | Mapping[str, str]) -> Mapping[str, str]:
    """Locations are relative to this program's folder, not to that of the server."""
    request = {"location": given} if isinstance(given, str) else dict(given)
    location = request["location"]
    if "://" not in location and location.startswith((".", "/")) or os.path.exists(location):
        request["location"] = os.path.abspath(location)
    return request


def _part(text: str) -> str:
    return quote(os.fsencode(text), safe="")


def _query(query: Mapping[str, JSON] | None) -> str:
    pairs = []
    for key, value in (query or {}).items():
        if value is None:
            continue
        for each in value if isinstance(value, (list, tuple)) else [value]:
            text = str(each).lower() if isinstance(each, bool) else str(each)
            pairs.append(f"{key}={quote(os.fsencode(text), safe='')}")
    return "?" + "&".join(pairs) if pairs else ""


def _problem(response: http.client.HTTPResponse) -> Mapping[str, JSON]:
    text = response.read()
    try:
        return json.loads(text)
    except ValueError:
        return {"code": "NO_PROBLEM", "status": response.status, "detail": text.decode(errors="replace")}


# What stands here for the operations that hints name.
_METHODS = {
    "GET /plans?all=true": "client.plans(all=True)",
    "POST /plans": "client.create()",
    "GET /plans/{}": "plan.show()",
    "GET /plans/{}/file": "plan.read()",
    "PUT /plans/{}/file": "plan.write()",
    "GET /plans/{}/entries": "plan.list()",
    "POST /plans/{}/exec": "plan.run()",
    "GET /resource-types": "client.resource_types()",
    "GET /resource-types/{}": "client.resource_type()",
}


def _hint(hint: str) -> str:
    """The hint of a problem, which names operations of the API and members of requests, in words of this module."""

    def method(found: re.Match[str]) -> str:
        verb, at = found.groups()
        operation = verb + " " + re.sub("^(/[a-z-]+/)[^/?]+", r"\1{}", at)
        owner = "plan" if at.startswith("/plans/") else "client"
        return _METHODS.get(operation, f"{owner}.{at.split('/')[-1]}()")

    def member(found: re.Match[str]) -> str:
        return re.sub("[A-Z]", lambda letter: f"_{letter.group().lower()}", found.group())

    return re.sub("`[a-zA-Z]+`", member, re.sub(r"([A-Z]+) /v1(/[\w/{}%?=-]+)", method, hint))


def _error(problem: Mapping[str, JSON]) -> DrydockError:
    details = problem.get("details", {})
    reasons = (problem.get("code"), details.get("reason"))
    is_conflict = details.get("conflicts") or any(code in ("CONFLICT", "DIGEST_DIFFERS") for code in reasons)
    return ConflictError(problem) if is_conflict else DrydockError(problem)

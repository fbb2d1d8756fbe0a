#!/usr/bin/env python3
"""A strategy in Python: JSON documents, files with one object whose members are texts.

It is the strategy of docs/writing-a-strategy.md in another language: two phases, undo, checkpoints. A sandbox
is a folder in the state directory:

    base.json       the document as it was
    work.json       the document with the work; written last, so it says that the sandbox is whole
    first.json      the document before the first commit of this sandbox
    saved-ID.json   a checkpoint
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "clients" / "python"))

from drydock_strategy import (  # noqa: E402
    Ref,
    SandboxConflictError,
    SandboxStateError,
    Strategy,
    UsageError,
    assert_resource_path,
    sandbox_id_for,
    serve,
)

Document = dict[str, str]
Transaction = dict[str, Any]
Prepared = dict[str, Any]


class DocumentStrategy(Strategy):
    name = "python_document"
    version = "1"
    capabilities = {"commit": "two-phase", "undo": True, "resourceTypes": ["json-document"]}

    def create(self, plan_id: str, resource: dict[str, Any]) -> Ref:
        sandbox_id = sandbox_id_for(plan_id, resource["id"])
        folder = Path(self.context.state_dir, "documents", sandbox_id)
        if (folder / "work.json").exists():
            raise SandboxStateError(f"{sandbox_id} is there already.", from_state="CREATED", to_state="PENDING")
        ref = {
            "sandboxId": sandbox_id,
            "planId": plan_id,
            "resourceId": resource["id"],
            "strategyName": self.name,
            "metadata": {"folder": str(folder), "original": resource["location"]},
        }
        # Before anything exists: after a crash, cleanup is called with exactly this.
        self.context.record_intent(ref, [{"kind": "folder", "location": str(folder)}])
        folder.mkdir(parents=True, exist_ok=True)
        text = original_of(ref).read_text()
        replace_file(file_of(ref, "base"), text)
        self.context.failpoint("document.create")
        replace_file(file_of(ref, "work"), text)
        return ref

    def read(self, ref: Ref, path: str) -> bytes:
        text = file_of(ref, "work").read_text()
        if path == ".":
            return text.encode()
        document = document_in(text)
        if assert_resource_path(path) not in document:
            raise UsageError(f"The document has no '{path}'.", hint="Read '.' to see all.", code="NO_SUCH_FILE")
        return document[path].encode("latin-1")

    def write(self, ref: Ref, path: str, content: bytes) -> dict[str, str]:
        assert_resource_path(path)
        # Other processes may write to the same sandbox.
        with locked(folder_of(ref)):
            document = document_in(file_of(ref, "work").read_text())
            operation = "modified" if path in document else "added"
            changed = document_in(content.decode()) if path == "." else {**document, path: content.decode("latin-1")}
            replace_file(file_of(ref, "work"), text_of(changed))
        return {"path": path, "operation": operation, "kind": "object"}

    def diff(self, ref: Ref) -> dict[str, list[dict[str, str]]]:
        before = document_in(file_of(ref, "base").read_text())
        after = document_in(file_of(ref, "work").read_text())
        changes = []
        for path in sorted({*before, *after}):
            if path not in before:
                changes.append({"path": path, "operation": "added", "kind": "object"})
            elif path not in after:
                changes.append({"path": path, "operation": "deleted", "kind": "object"})
            elif before[path] != after[path]:
                changes.append({"path": path, "operation": "modified", "kind": "object"})
        return {"changes": changes}

    def commit(self, ref: Ref, facts: dict[str, Any] | None = None) -> dict[str, Any]:
        keep_first(ref)
        work = file_of(ref, "work").read_text()
        changes = len(self.diff(ref)["changes"])
        assert_unchanged(ref, file_of(ref, "base").read_text())
        self.context.failpoint("document.commit")
        replace_file(original_of(ref), work)
        replace_file(file_of(ref, "base"), work)
        return {"changes": changes, "attention": []}

    def rollback(self, ref: Ref) -> None:
        """Takes back all commits of this sandbox, the last one perhaps half done, and the work in it."""
        first = file_of(ref, "first")
        if first.exists():
            landed = [file_of(ref, "base").read_text(), file_of(ref, "work").read_text()]
            if original_of(ref).read_text() in landed:
                replace_file(original_of(ref), first.read_text())
            replace_file(file_of(ref, "base"), first.read_text())
            first.unlink()
        if file_of(ref, "work").exists():
            replace_file(file_of(ref, "work"), file_of(ref, "base").read_text())

    def checkpoint(self, ref: Ref, checkpoint_id: str, last: dict[str, Any] | None = None) -> None:
        replace_file(file_of(ref, f"saved-{checkpoint_id}"), file_of(ref, "work").read_text())

    def restore_checkpoint(self, ref: Ref, checkpoint_id: str) -> None:
        replace_file(file_of(ref, "work"), file_of(ref, f"saved-{checkpoint_id}").read_text())

    def cleanup(self, ref: Ref) -> None:
        if folder_of(ref).exists():
            shutil.rmtree(folder_of(ref))

    def path(self, ref: Ref) -> str:
        return str(file_of(ref, "work"))

    def prepare(self, ref: Ref, transaction: Transaction) -> Prepared | None:
        """Everything that can fail happens here."""
        before, after, changes = self.goal(ref, transaction)
        if before == after:
            return None
        assert_unchanged(ref, before)
        self.context.failpoint("document.stage")
        write_durably(staged(ref, transaction), after)
        self.context.failpoint("document.staged")
        return {"changes": changes, "data": {"from": before, "to": after}}

    def commit_prepared(self, ref: Ref, transaction: Transaction, prepared: Prepared) -> dict[str, Any]:
        before, after = prepared["data"]["from"], prepared["data"]["to"]
        attention = []
        found = original_of(ref).read_text()
        keep_first(ref)
        if found != after:
            if found != before:
                attention.append(keep_rival(ref, transaction, found))
            if not staged(ref, transaction).exists():
                write_durably(staged(ref, transaction), after)
            self.context.failpoint("document.land")
            os.replace(staged(ref, transaction), original_of(ref))
        self.context.failpoint("document.landed")
        staged(ref, transaction).unlink(missing_ok=True)
        if transaction["direction"] == "commit" and file_of(ref, "work").exists():
            replace_file(file_of(ref, "base"), after)
        return {"changes": prepared["changes"], "attention": attention}

    def rollback_prepared(self, ref: Ref, transaction: Transaction, prepared: Prepared | None = None) -> None:
        # A person may give a landing up that can't finish: then it has begun already.
        if prepared is not None and original_of(ref).read_text() == prepared["data"]["to"]:
            replace_file(original_of(ref), prepared["data"]["from"])
        self.context.failpoint("document.unstage")
        staged(ref, transaction).unlink(missing_ok=True)

    def goal(self, ref: Ref, transaction: Transaction) -> tuple[str, str, int]:
        """What the original holds and shall hold. An undo is a transaction in the other direction."""
        if "undoes" in transaction:
            undone = transaction["undoes"]["prepared"]
            return undone["data"]["to"], undone["data"]["from"], undone["changes"]
        changes = len(self.diff(ref)["changes"])
        return file_of(ref, "base").read_text(), file_of(ref, "work").read_text(), changes


def folder_of(ref: Ref) -> Path:
    return Path(ref["metadata"]["folder"])


def file_of(ref: Ref, name: str) -> Path:
    return folder_of(ref) / f"{name}.json"


def original_of(ref: Ref) -> Path:
    return Path(ref["metadata"]["original"])


def staged(ref: Ref, transaction: Transaction) -> Path:
    """Beside the original, where a rename is one step. Its name says whose it is."""
    return Path(f"{original_of(ref)}.drydock-{transaction['id']}")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def keep_first(ref: Ref) -> None:
    if file_of(ref, "work").exists() and not file_of(ref, "first").exists():
        replace_file(file_of(ref, "first"), original_of(ref).read_text())


def keep_rival(ref: Ref, transaction: Transaction, text: str) -> dict[str, str]:
    """A change that another writer made between prepare and landing is never lost."""
    kept_at = Path(f"{original_of(ref)}.rival-{transaction['id']}")
    write_durably(kept_at, text)
    return {"path": ".", "message": "another writer changed it at the last moment", "keptAt": str(kept_at)}


def assert_unchanged(ref: Ref, expected: str) -> None:
    if original_of(ref).read_text() != expected:
        raise SandboxConflictError([(".", "another writer changed the document")])


def write_durably(path: Path, text: str) -> None:
    """On disk before the name is there, so that no power cut leaves half of it."""
    with open(path, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, text: str) -> None:
    """At no moment is the file missing or half written."""
    new = Path(f"{path}.new")
    write_durably(new, text)
    os.replace(new, path)


def document_in(text: str) -> Document:
    document = json.loads(text)
    if isinstance(document, dict) and all(isinstance(value, str) for value in document.values()):
        return document
    raise UsageError("The document is no object of texts.", hint='Write { "name": "text" }.')


def text_of(document: Document) -> str:
    return json.dumps(document, indent=2) + "\n"


if __name__ == "__main__":
    serve(DocumentStrategy)

import { type Answer, attemptKey, type Call, deedOf } from "./call.ts";
import { GATE_CHECKS, type GateCheck, type Question } from "./gate-checks.ts";
import { answered, begun, type Note } from "./note.ts";

/**
 * What a host does with a call, before it runs anything. The host trusts no sender: it looks itself at what
 * it has noted and at what the database says, and then
 *
 *   1. takes the lock of the original, which every process of the host takes, so that all calls for one
 *      original run one after the other. Otherwise a prepare that has looked already would end after the
 *      rollbackPrepared that was to remove it;
 *   2. writes and flushes `noteBeforeLook`, if there is one;
 *   3. looks at the database: its clock, the rows of the transaction, who holds the plan, and whether the
 *      other works that hold this original are over. The look carries the count of its notes
 *      (registration.ts);
 *   4. asks `admit`. It answers, or it flushes the note, runs the method, and asks `ran`;
 *   5. flushes that note, gives back the lock, and answers.
 */
export type Admission =
  /** Answers without running anything; first flushes the note, if there is one. */
  | { readonly do: "answer"; readonly answer: Answer; readonly note?: Note }
  /** Flushes the note, then runs the method. */
  | { readonly do: "run"; readonly note: Note };

/**
 * A commit that can't be taken back, and a call outside of a transaction, is noted before the host looks.
 * The look tells the database of the note, so that no older copy of the state directory can run this commit
 * once more.
 */
export function noteBeforeLook(note: Note | undefined, call: Call): Note | undefined {
  if (call.scope === "operation") return note === undefined ? begun(note, call) : undefined;
  const isFirst = note === undefined || note.state === "new";
  if (call.kind !== "irreversible" || call.method !== "commit" || !isFirst) return undefined;
  return begun(note, call);
}

/**
 * The question has the note as it is after step 2. `checks` are the rules; what they all let through runs.
 */
export function admit(question: Question, checks: readonly GateCheck[] = GATE_CHECKS): Admission {
  const { call, note } = question;
  for (const { check } of checks) {
    const answer = check(question);
    if (answer !== undefined) return answering(question, answer);
  }
  return { do: "run", note: begun(note, call) };
}

/** What came of the method. */
export function ran(
  note: Note,
  call: Call,
  answer: Answer,
): { readonly note: Note; readonly answer: Answer } {
  return { note: answered(note, call, answer), answer };
}

function answering({ call, note, isNotedFirst }: Question, answer: Answer): Admission {
  // It was noted as begun for the look alone, and is not going to run.
  if (isNotedFirst && call.scope === "operation")
    return { do: "answer", answer, note: answered(note, call, answer) };
  if (isNotedFirst) return { do: "answer", answer, note: answered(note, call, { said: "never-ran" }) };
  // Asking ends it: from now on this host will not begin it.
  if (deedOf(call) === "ask" && answer.said === "never-ran")
    return { do: "answer", answer, note: answered(note, call, answer) };
  return call.scope === "operation" && answer.said === "refused"
    ? refusing(call, note, answer)
    : { do: "answer", answer };
}

/**
 * Whoever called is told that nothing happened, so nothing may happen later: the same call may come again
 * when the reason to refuse it is gone. If it has begun before, in a process that died, nobody can tell.
 */
function refusing(call: Call, note: Note | undefined, answer: Answer): Admission {
  if (note?.answers[attemptKey(call)] !== undefined) return { do: "answer", answer };
  const said: Answer = note === undefined ? answer : { said: "in-doubt" };
  return { do: "answer", answer: said, note: answered(note, call, said) };
}

import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { EventData, TestsStream } from "node:test";
import { inspect } from "node:util";
import { TIMES_FILE } from "./processor-time.ts";
import { root } from "./step.ts";
import { banner } from "./test-machine.ts";
import type { Pack } from "./test-packs.ts";

/** How a run of the tests ended. */
export interface TestOutcome {
  readonly tests: number;
  readonly failed: number;
  readonly skipped: number;
}

type Result = EventData.TestPass | EventData.TestFail;

/** How many files the closing lines name as the slowest. */
const SLOWEST = 8;

/**
 * Prints a run as it goes: a line for each top-level suite or test, every failure in full. At the end: every
 * failure once more by name, every skipped test with its reason, the slowest files, and the closing lines of
 * Node's reporters.
 */
export async function reportTests(stream: TestsStream, packs: readonly Pack[]): Promise<TestOutcome> {
  const report = new Report(packs);
  stream.on("test:start", (data) => report.start(data));
  stream.on("test:pass", (data) => report.pass(data));
  stream.on("test:fail", (data) => report.fail(data));
  stream.on("test:diagnostic", (data) => report.diagnostic(data));
  stream.on("test:summary", (data) => report.summary(data));
  stream.on("test:stdout", ({ message }) => process.stdout.write(message));
  stream.on("test:stderr", ({ message }) => process.stderr.write(message));
  for await (const _ of stream);
  return report.end();
}

class Report {
  readonly #path: string[] = [];
  readonly #failures: string[] = [];
  readonly #skips: string[] = [];
  readonly #closing: string[] = [];
  readonly #files: { readonly path: string; readonly seconds: number }[] = [];
  readonly #packs: ReadonlyMap<string, Pack>;
  /** Where tests were. */
  readonly #seen = new Set<string>();
  #tests = 0;

  constructor(packs: readonly Pack[]) {
    this.#packs = new Map(packs.map((pack) => [pack.program, pack]));
  }

  start({ name, nesting }: EventData.TestStart): void {
    this.#path.splice(nesting, Number.POSITIVE_INFINITY, name);
  }

  pass(data: EventData.TestPass): void {
    // Node counts a file without tests as a test that passed.
    if (data.name === data.file) {
      this.#failures.push(`${this.#title(data)}: there is no test in it`);
      return;
    }
    this.#count(data);
    if (data.nesting === 0) this.#print("✔", data);
  }

  fail(data: EventData.TestFail): void {
    this.#count(data);
    const { error } = data.details;
    // A suite fails because of a test in it, which was printed already.
    if ("failureType" in error && error.failureType === "subtestsFailed") {
      if (data.nesting === 0) this.#print("✖", data);
      return;
    }
    this.#failures.push(this.#title(data));
    console.log(`\n✖ ${this.#title(data)}\n${describe(error)}\n`);
  }

  diagnostic({ message, nesting }: EventData.TestDiagnostic): void {
    const isClosing =
      nesting === 0 && /^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(message);
    if (isClosing) this.#closing.push(`ℹ ${message}`);
    else console.log(`ℹ ${message}`);
  }

  /** Node sums up every file, and at the end all of them together, which names no file. */
  summary({ file, duration_ms }: EventData.TestSummary): void {
    if (file !== undefined) this.#files.push({ path: this.#name(file), seconds: duration_ms / 1000 });
  }

  end(): TestOutcome {
    for (const file of this.#silent()) this.#failures.push(`${file}: there is no test in it`);
    if (this.#failures.length > 0) console.log(banner(`${this.#failures.length} FAILED`, this.#failures));
    if (this.#skips.length > 0) console.log(banner(`${this.#skips.length} SKIPPED`, this.#skips));
    console.log(`What took longest:\n${this.#slowest().join("\n")}`);
    console.log(this.#closing.join("\n"));
    return { tests: this.#tests, failed: this.#failures.length, skipped: this.#skips.length };
  }

  /** The files of packs without a test, which Node does not count there. */
  #silent(): string[] {
    const packed = [...this.#packs.values()].filter(({ files }) => files.length > 1);
    return packed.flatMap(({ files }) => files.filter((file) => !this.#seen.has(file)));
  }

  /** The files that took longest, with the processor time of each where it is known. */
  #slowest(): string[] {
    const processor = this.#processorTimes();
    const all = [...processor.values()].reduce((sum, seconds) => sum + seconds, 0);
    const files = this.#files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
    const lines = files.map(({ path, seconds }) => {
      const used = processor.get(path);
      const more = used === undefined ? "" : ` (${used.toFixed(1)} s of processor time)`;
      return `${seconds.toFixed(1).padStart(7)} s ${path}${more}`;
    });
    return all === 0 ? lines : [...lines, `Processor time of all test files: ${all.toFixed(0)} s`];
  }

  #count(data: Result): void {
    if (data.file !== undefined) this.#seen.add(relative(root, data.file));
    if (data.details.type !== "suite") this.#tests += 1;
    if (isSet(data.skip)) this.#skips.push(`${this.#title(data)}: ${reasonOf(data.skip)}`);
    else if (isSet(data.todo)) this.#skips.push(`${this.#title(data)}: to do, ${reasonOf(data.todo)}`);
  }

  #print(mark: string, data: Result): void {
    console.log(`${mark} ${this.#title(data)} (${(data.details.duration_ms / 1000).toFixed(1)} s)`);
  }

  /** What the test processes noted (processor-time.ts): seconds by file. */
  #processorTimes(): ReadonlyMap<string, number> {
    const file = process.env[TIMES_FILE] ?? "";
    if (!existsSync(file)) return new Map();
    const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    return new Map(
      lines.map((line) => {
        const [seconds = "", ...words] = line.split(" ");
        return [this.#name(words.join(" ")), Number(seconds)];
      }),
    );
  }

  #name(file: string): string {
    return this.#packs.get(file)?.title ?? relative(root, file);
  }

  #title({ file, name, nesting }: Result): string {
    const where = file === undefined ? "" : this.#name(file);
    // A file that dies or can't be loaded is reported as a test with its own path as the name.
    if (name === file) return where;
    return `${where}: ${[...this.#path.slice(0, nesting), name].join(" > ")}`;
  }
}

/** What went wrong: the error that the test threw, or what became of its process. */
function describe(error: EventData.Error): string {
  if (error.cause instanceof Error) return inspect(error.cause, { depth: 10 });
  const { exitCode, signal } = error as { readonly exitCode?: number; readonly signal?: string };
  const end = signal ?? (exitCode === undefined ? undefined : `exit code ${exitCode}`);
  return `${error.cause ?? error.message}${end === undefined ? "" : ` (${end})`}`;
}

/** A test that gives "" as its reason is skipped as well. */
function isSet(value: string | boolean | undefined): value is string | true {
  return value !== undefined && value !== false;
}

function reasonOf(value: string | true): string {
  return value === true || value === "" ? "no reason given" : value;
}

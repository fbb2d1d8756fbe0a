import type { ComponentChildren } from "preact";
import type { CheckResult } from "../../src/core/values/checks.ts";
import { Shown } from "../text/shown.tsx";

/** A check as it ended, with its output. */
export function CheckOutput({ check }: { readonly check: CheckResult }): ComponentChildren {
  const { command, exitCode, durationMs, limit, output } = check;
  return (
    <div class="check">
      <p class="details">
        <code>
          <Shown text={command} />
        </code>
        <span class={exitCode === 0 ? "" : "failed"}>exit code {exitCode}</span>
        <span>{(durationMs / 1000).toFixed(1)} seconds</span>
        {limit !== undefined && <span class="failed">reached its limit: {limit}</span>}
      </p>
      <Output text={output} />
    </div>
  );
}

/** What a command wrote, line by line. A terminal ends lines by CRLF. */
export function Output({ text }: { readonly text: string }): ComponentChildren {
  if (text === "") return <p class="empty-output">It wrote nothing.</p>;
  return (
    // biome-ignore lint/a11y/useSemanticElements: no form; and no landmark either, for a page can have many.
    <section class="output" role="group" tabIndex={0} aria-label="Output">
      {text.split(/\r?\n/).map((line, at) => (
        <code class="output-line" key={at}>
          <Shown text={line} />
        </code>
      ))}
    </section>
  );
}

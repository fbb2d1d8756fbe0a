import type { ComponentChildren } from "preact";
import { dialog } from "../model/keys.ts";
import { decided, failure, model, said, session } from "../model/review.ts";
import { addressOf, place } from "../model/route.ts";
import { nextTheme, theme } from "../model/settings.ts";
import { Shown } from "../text/shown.tsx";
import { OpenQuestion } from "./decision.tsx";
import { Help } from "./help.tsx";
import { PlanPage } from "./plan-page.tsx";
import { StartPage } from "./start-page.tsx";

/** All of the page. */
export function App(): ComponentChildren {
  if (decided.value !== undefined) return <Ended text={`${decided.value} You can close this window.`} />;
  if (session.value === undefined)
    return <Ended text={failure.value ?? "Opening…"} isProblem={failure.value !== undefined} />;
  return (
    <>
      <header class="top">
        <a class="brand" href={addressOf({ page: "start" })}>
          Drydock
        </a>
        <span class="space" />
        <button type="button" onClick={nextTheme} title="Light, dark, or as the system">
          {theme.value === "system" ? "auto" : theme.value}
        </button>
        <button type="button" onClick={() => show("help")} title="Keys">
          Keys <kbd>?</kbd>
        </button>
        <button type="button" onClick={() => show("close")}>
          Close
        </button>
      </header>
      <main>{page()}</main>
      <Said />
      {failure.value !== undefined && (
        <p class="offline" role="alert">
          {failure.value}
        </p>
      )}
      {dialog.value === "help" ? <Help onClose={() => show(undefined)} /> : <OpenQuestion />}
    </>
  );
}

function show(what: typeof dialog.value): void {
  dialog.value = what;
}

function page(): ComponentChildren {
  const at = place.value;
  if (at.page === "start") return <StartPage />;
  const known = model.value;
  return known === undefined ? <p class="empty">Reading…</p> : <PlanPage model={known} tab={at.tab} />;
}

function Said(): ComponentChildren {
  const now = said.value;
  return (
    <div class="said" role="status">
      {now !== undefined && (
        <p class={now.isProblem ? "warning" : ""}>
          <Shown text={now.text} />{" "}
          <button
            type="button"
            onClick={() => {
              said.value = undefined;
            }}
          >
            OK
          </button>
        </p>
      )}
    </div>
  );
}

function Ended({ text, isProblem = false }: { readonly text: string; readonly isProblem?: boolean }) {
  return (
    <main class="ended">
      <h1>Drydock</h1>
      <p role={isProblem ? "alert" : "status"}>
        <Shown text={text} />
      </p>
    </main>
  );
}

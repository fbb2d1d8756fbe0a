import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { IS_LONG } from "../support/long-form.ts";
import { BY_FUSE, BY_KERNEL, IN_USER_NAMESPACE, type OverlayRun } from "../support/overlay-runs.ts";
import { OverlayTrials } from "./overlay.ts";
import type { OverlayTrial } from "./overlay-run.ts";

/** What is tried at other points with other strategies is not tried again; but everything in a long run. */
const OWN = "^overlay\\.";
const LANDING = "^overlay\\.|^stage\\.(?:free|mark|put)|^land(?:ings\\.flush|\\.(?:exchange|remove))";
const WRITING = "^(?:overlay|write|copy|metadata)\\.";
const DECISIVE = "^(?:overlay|landings)\\.";

type Trials = readonly (readonly [string, OverlayTrial])[];

/**
 * Of a second way to mount an overlay: its mounts, and what it writes where the kernel would not. How things
 * land is the same, whichever way they are mounted.
 */
const OF_WAY = "^overlay\\.(?:mount|unmount|clear|probe-(?:mark|mount|unmount)|freeze|create-mount|mark)";

/** What only the long form tries: errors, and failures twice over, where all lands as with any strategy. */
function longTrials(...trials: Trials): Trials {
  return IS_LONG ? trials : [];
}

/** All in one process, so that a scenario is not killed again at most points where another one was. */
function describeTrials(run: OverlayRun, groups: { readonly [title: string]: Trials }): void {
  const ways = run === BY_KERNEL ? {} : { ways: [run.way] };
  describe(`with overlay ${run.title}`, { skip: run.skip }, () => {
    let there: OverlayTrials;
    before(async () => {
      there = await OverlayTrials.start(run);
    });
    after(() => there[Symbol.asyncDispose]());
    for (const [title, trials] of Object.entries(groups))
      describe(title, () => {
        for (const [what, trial] of trials)
          it(what, async (t) => {
            const outcome = await there.try({
              ...trial,
              ...ways,
              ...(IS_LONG && { points: "", isLastPass: false }),
            });
            assert.ok(outcome.cases > 0, "there was nothing to try");
            t.diagnostic(`${trial.scenario}: ${outcome.points.length} points, ${outcome.cases} tried`);
          });
      });
  });
}

const kill = (scenario: string, more: Partial<OverlayTrial> = {}): OverlayTrial => ({
  scenario,
  how: "kill",
  ...more,
});
const MIXED = ["overlay", "filesystem_copy"];
const SMALL = { isSmall: true, isLastPass: true };
const small = (scenario: string, points = OWN): OverlayTrial => kill(scenario, { points, ...SMALL });
const error = (scenario: string, points = OWN): OverlayTrial => ({
  scenario,
  how: "error",
  points,
  ...SMALL,
});

describeTrials(BY_KERNEL, {
  "SIGKILL at the failpoints": [
    [
      "[A3][A7][A17] a crash in apply leaves every original old or every one new, and no mount",
      small("apply", LANDING),
    ],
    ["[A3][A7][A17] so it does with everything that can be in a folder", kill("apply", { points: OWN })],
    [
      "[A3][A7][A17] so it does in a plan in which another original is copied",
      kill("apply", { points: DECISIVE, isSmall: true, strategies: ["overlay", "filesystem_copy"] }),
    ],
    [
      "[A3][A7][A17] so it does with folders that were moved",
      kill("apply", { points: OWN, isMoved: true, isLastPass: true }),
    ],
    [
      "[A3][A7][A17] so it does at every step of giving folders of the original their other names",
      kill("apply", { points: "^land\\.", isMoved: true, isLastPass: true }),
    ],
    ...longTrials([
      "[A3][A17] and a crash in the undo of that leaves them with their old names or their new ones",
      kill("undo", { points: "^land\\.", isMoved: true, isLastPass: true }),
    ]),
    [
      "[A3][A17] a crash in undo leaves every original new or every one old",
      small("undo", "^(?:land|landings)\\."),
    ],
    ["[C2][L4][A17] a crash in create leaves a whole plan or none", small("create")],
    [
      "[C2][L4][A17] so it does with a workspace inside its original",
      kill("create", { points: "^overlay\\.hide", isSmall: true, isInside: true }),
    ],
    ["[A3][L4] a crash in rollback leaves the plan open", small("rollback")],
    ["[C2][A17] a crash in cancel leaves the plan as it was, or gone", small("cancel")],
    ["[C6][A17] a crash in checkpoint leaves the work as it is", small("checkpoint")],
    ["[C6][A17] a crash in restoreCheckpoint leaves it to be finished", small("restore")],
    [
      "[C2][C7] a crash in a checkpoint of a plan leaves a whole one or none, also where another original is copied",
      kill("checkpoint of a plan", {
        points: "^(?:overlay|checkpoint\\.(?:finish|share))",
        ...SMALL,
        strategies: MIXED,
      }),
    ],
    [
      "[C6][C7] a crash in the restore of a plan leaves all sandboxes at the checkpoint or none, also where another original is copied",
      kill("restore of a plan", {
        points: "^(?:overlay|checkpoint\\.(?:restore|end))",
        ...SMALL,
        strategies: MIXED,
      }),
    ],
    [
      "[A3][A7][A17] a crash in the apply of a part leaves the originals as before or with the part, and the rest in the plan",
      small("apply of a part", "^(?:part\\.leave|overlay\\.(?:note|give|forget)-times)"),
    ],
    [
      "[A3][A7][A17] so it does where only that a file is no longer there lands of its move",
      small("apply of a part of a move", "^part\\.(?:note|create|forget|flush)"),
    ],
    [
      "[A3][A17] a crash in the undo of a part leaves it landed or not, and the work in the plan",
      small("undo of a part", "^part"),
    ],
    ["[A3][A17] a crash in commit can be rolled back", small("commit alone")],
    [
      "[A3][A17] a crash in rollback of what has landed can be rolled back again",
      small("rollback of what has landed alone"),
    ],
    ["[A3][A17] a crash in write leaves the plan usable and the original alone", small("write", WRITING)],
    ["[A3][A17] and over a file", small("write over same", WRITING)],
    ["[A3][A17] and where nothing is mounted: it can still land", small("write without a mount", WRITING)],
    ["[A3][A17] and over a file where nothing is mounted", small("write over same without a mount", WRITING)],
    ["[A3][A17] and where a folder was deleted", small("write over what was deleted", WRITING)],
    ["[A3][A17] and where a file was deleted", small("write over a file that was deleted", WRITING)],
  ],
  "an error at the failpoints": [
    ["[A1][A2][A4][A5][A7] in apply: all or nothing, and its report is true", error("apply", DECISIVE)],
    ...longTrials(
      ["[A1][A2][A5] in undo: all or nothing", error("undo", "^(?:land|landings)\\.")],
      ["[A1][C2] in create: a whole plan or none", error("create")],
      ["[A5][L4] in rollback: the plan stays open", error("rollback")],
      ["[A5][C2] in cancel: the plan stays, or goes", error("cancel")],
    ),
  ],
  "a failure while undoing a failure": [
    [
      "[A3][A7][A17] apply dies while names of one file are put together, and its recovery dies",
      kill("apply", { crash: "overlay.link-name:1=kill", points: OWN, isLastPass: true }),
    ],
    [
      "[A3][A7][A17] so it does with everything that can be in a folder, where marks are set again",
      kill("apply", { crash: "landings.flush-staged:2=kill", points: "^stage\\.mark-again" }),
    ],
    ...longTrials(
      [
        "[A3][A7][A17] apply dies before the decision, and its recovery dies",
        kill("apply", { crash: "landings.flush-staged:2=kill", points: DECISIVE, isSmall: true }),
      ],
      [
        "[A3][A7][A17] apply dies after the decision, and its recovery fails",
        {
          scenario: "apply",
          how: "error",
          crash: "land.exchange:1=kill",
          points: "^(?:overlay|land|landings)\\.",
          isSmall: true,
        },
      ],
      [
        "[C2][A17] cancel dies, and its recovery dies",
        kill("cancel", { crash: "cleanup.remove:2=kill", points: "^(?:overlay|cleanup)\\.", isSmall: true }),
      ],
    ),
  ],
});

describeTrials(IN_USER_NAMESPACE, {
  "SIGKILL at the failpoints": [
    ["[A3][A7][A17] a crash in apply leaves every original old or every one new", small("apply", OF_WAY)],
    ["[C2][L4][A17] a crash in create leaves a whole plan or none", small("create", OF_WAY)],
    [
      "[A3][A17] a crash in write where nothing is mounted leaves what can still land",
      small("write without a mount", "^overlay\\.(?:mark|place|root|copy-up)"),
    ],
    ["[C2][A17] a crash in cancel leaves the plan as it was, or gone", small("cancel", OF_WAY)],
  ],
});

describeTrials(BY_FUSE, {
  "SIGKILL at the failpoints": [
    [
      "[O1][A17] a crash in removing what another try to mount has left leaves that to the next",
      kill("create", {
        points: "^overlay\\.probe-unmount-left",
        isSmall: true,
        after: "overlay.probe-unmount=kill",
      }),
    ],
    ["[A3][A7][A17] a crash in apply leaves every original old or every one new", small("apply", OF_WAY)],
    ["[C2][L4][A17] a crash in create leaves a whole plan or none", small("create", OF_WAY)],
    ["[C2][A17] a crash in cancel leaves the plan as it was, or gone", small("cancel", OF_WAY)],
  ],
});

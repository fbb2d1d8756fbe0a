import { conformanceCases } from "../../src/testing/index.ts";
import { COMPILED } from "../support/compile-cache.ts";
import { IS_LONG } from "../support/long-form.ts";
import { describeConformance } from "./describe-conformance.ts";
import { DrawerStrategy } from "./drawer.ts";
import { makeDrawer } from "./drawer-resource.ts";

/** All but crashes, which the check of the same strategy has (test/end-to-end/strategy-check.test.ts). */
const groups = [...new Set(conformanceCases.map(({ group }) => group))].filter((group) => group !== "crash");

describeConformance(
  "a strategy for what is no folder",
  {
    create: (context) => new DrawerStrategy(context),
    makeResource: makeDrawer,
    module: {
      url: new URL("./drawer.ts", import.meta.url).href,
      className: "DrawerStrategy",
      environment: COMPILED,
    },
  },
  {
    ...(!IS_LONG && { groups }),
    excludes: [
      "life cycle",
      "isolation",
      "diff",
      "path safety",
      "exactness",
      "two-phase",
      "undo",
      "parts",
      "checkpoints",
      "conflicts",
    ],
  },
);

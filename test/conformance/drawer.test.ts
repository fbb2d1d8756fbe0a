import { COMPILED } from "../support/compile-cache.ts";
import { describeConformance } from "./describe-conformance.ts";
import { DrawerStrategy } from "./drawer.ts";
import { makeDrawer } from "./drawer-resource.ts";

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

import { render } from "preact";
import { followKeys } from "./model/keys.ts";
import { open } from "./model/review.ts";
import { followSettings } from "./model/settings.ts";
import { App } from "./view/app.tsx";

/** The page of a review: shows plans and their changes, and takes a person's decision. */
const root = document.querySelector("#page");
if (root === null) throw new Error("The document has no place for the page.");
followSettings();
followKeys();
render(<App />, root);
void open();

import { describeHeld } from "./held-cases.ts";

describeHeld("postgres");

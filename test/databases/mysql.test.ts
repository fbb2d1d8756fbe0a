import { describeHeld } from "./held-cases.ts";

describeHeld("mariadb");

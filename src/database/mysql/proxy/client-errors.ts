import type { ClientError } from "./protocol/wire.ts";

/** With these errors, the server may have rolled back the whole transaction. */
export const ENDING = [1020, 1205, 1213, 1399, 1402, 1613, 1614];

export const TOO_LONG: ClientError = {
  ...{ code: 1153, state: "08S01" },
  message: "Got a packet bigger than 'max_allowed_packet' bytes",
};

/** MySQL's answer to a command that it does not know. */
export const UNKNOWN: ClientError = { code: 1047, state: "08S01", message: "Unknown command" };

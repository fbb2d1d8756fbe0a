/** The first byte of each command of a client. */
export const COMMAND = {
  quit: 0x01,
  useDatabase: 0x02,
  query: 0x03,
  fields: 0x04,
  statistics: 0x09,
  kill: 0x0c,
  ping: 0x0e,
  changeUser: 0x11,
  prepare: 0x16,
  execute: 0x17,
  longData: 0x18,
  closeStatement: 0x19,
  resetStatement: 0x1a,
  option: 0x1b,
  fetch: 0x1c,
  reset: 0x1f,
} as const;

/** A command with a text, each character of which is one byte. */
export function textCommand(command: "query" | "prepare", text: string): Buffer {
  return Buffer.concat([Buffer.of(COMMAND[command]), Buffer.from(text, "latin1")]);
}

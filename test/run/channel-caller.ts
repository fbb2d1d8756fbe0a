import type { Stage } from "./stage.ts";

/**
 * What commands of these tests call Drydock with, as any program could: `ask` sends a request to the channel
 * and resolves with the status and the document that comes back.
 */
const CALLER = `const { request } = require("node:http");
exports.ask = (method, path, body, headers = {}) =>
  new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const call = request({ socketPath: process.env.DRYDOCK_SOCKET, method, path, headers: { ...type, ...headers } });
    call.on("error", reject);
    call.on("response", (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece) => (text += piece));
      answer.on("close", () => resolve({ status: answer.statusCode, text, ...parsed(text) }));
    });
    call.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
  });
const parsed = (text) => {
  try { return { body: JSON.parse(text) }; } catch { return {}; }
};
`;

/** A command that runs a script, and prints what that returns as JSON. */
export function writeCaller(stage: Stage, script: string): readonly string[] {
  stage.write("home/channel.cjs", CALLER);
  const home = JSON.stringify(`${stage.home}/channel.cjs`);
  stage.write(
    "home/caller.cjs",
    `const { ask } = require(${home});
(async () => {
  const said = await (async () => { ${script} })();
  console.log(JSON.stringify(said));
})();
`,
  );
  stage.give();
  return [process.execPath, `${stage.home}/caller.cjs`];
}

import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { messageOf, UsageError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { ALLOW_APPLY, type AllowApply } from "../../../mcp/tool.ts";
import type { ListenAddress } from "../../../serve/http/server.ts";
import type { CommandContext } from "../../command-context.ts";
import { openToChange } from "../../open-for-command.ts";
import { version } from "../version.ts";

interface ServeCommandOptions {
  readonly socket?: string;
  readonly listen?: string;
  readonly tokenFile?: string;
  readonly allowRemote?: boolean;
  readonly host?: readonly string[];
  readonly allowApprove?: boolean;
  readonly allowApply: AllowApply;
}

const LOCAL = ["localhost", "127.0.0.1", "[::1]"];

/** `drydock serve [--socket PATH | --listen HOST:PORT [--token-file FILE] [--allow-remote] …]` */
export function define(command: Command, context: CommandContext): void {
  command
    .addOption(
      new Option("--socket <path>", "listen at this socket; default: one in the state directory").conflicts(
        "listen",
      ),
    )
    .option("--listen <host:port>", "listen at this address of this machine, for clients with the token")
    .option("--token-file <file>", "with --listen: where the token is; made if it is missing")
    .option("--allow-remote", "with --listen: also an address that other machines can reach")
    .option("--host <names...>", "with --listen: other names by which clients call it")
    .option("--allow-approve", "with --listen: take approvals too; at a socket they are taken anyway")
    .addOption(
      new Option(
        "--allow-apply <rule>",
        "what agents at /mcp may land: nothing, what you approved, or everything",
      )
        .choices(ALLOW_APPLY)
        .default("approved"),
    )
    .action(async (options: ServeCommandOptions) => await serveUntilStopped(context, options));
}

async function serveUntilStopped(context: CommandContext, options: ServeCommandOptions): Promise<void> {
  const address = options.listen === undefined ? undefined : addressIn(options.listen, options);
  await openToChange(context, undefined, async (services, signal) => {
    const folder = join(services.stateDir, "serve");
    const place: ListenAddress = address ?? {
      socket: resolve(context.cwd, options.socket ?? join(folder, "api.sock")),
    };
    const tokenFile = resolve(context.cwd, options.tokenFile ?? join(folder, "token"));
    const token = address === undefined ? {} : { token: await tokenFrom(tokenFile) };
    const { serve } = await import("../../../serve/serve.ts");
    await serve({
      ...{ services, place, signal, ...token },
      version: await version(),
      hosts: [
        ...LOCAL,
        ...(address === undefined ? ["drydock"] : [bracketed(address.host)]),
        ...(options.host ?? []),
      ],
      person: address === undefined || options.allowApprove === true ? "api" : undefined,
      allowApply: options.allowApply,
      onListening: ({ port }) => {
        if ("socket" in place)
          return context.result({ socket: place.socket }, () => [
            `Listening at ${displayPath(place.socket)}`,
          ]);
        const url = `http://${bracketed(place.host)}:${port}`;
        return context.result({ url, tokenFile }, () => [
          `Listening at ${url}`,
          `The token is in ${displayPath(tokenFile)}`,
        ]);
      },
      onError: (error) => context.output.notice(`serve: ${messageOf(error)}`),
    });
  });
}

async function tokenFrom(file: string): Promise<string> {
  const { secretIn } = await import("../../../system/state/secret-file.ts");
  return secretIn(file, () => randomBytes(32).toString("base64url"));
}

function addressIn(text: string, { allowRemote = false }: ServeCommandOptions) {
  const [, given = "", port = ""] = /^(\[[\da-f:.]+\]|[^:]*):(\d{1,5})$/i.exec(text) ?? [];
  if (given === "" || Number(port) > 65_535)
    throw new UsageError(`'${text}' is no address.`, { hint: "Give HOST:PORT, such as 127.0.0.1:7070." });
  const host = given.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const isLocal = host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
  if (!isLocal && !allowRemote)
    throw new UsageError(`Other machines could reach ${host}.`, {
      hint: "Use 127.0.0.1, or say that you want that with --allow-remote. The connection is not encrypted.",
    });
  return { host, port: Number(port) };
}

/** The host as it stands in a URL. */
function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

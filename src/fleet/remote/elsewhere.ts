import type { FullCapabilities } from "../../core/capabilities.ts";
import { UnsupportedError } from "../../core/errors/errors.ts";
import type { PlanResource } from "../../core/plan.ts";
import { atHost, splitHost } from "../../core/resource/host-location.ts";
import type { Resource } from "../../core/resource/resource.ts";
import { type SandboxRef, sandboxIdFor } from "../../core/sandbox.ts";
import type { SandboxStrategy } from "../../core/strategy.ts";
import type { ResourceRequest } from "../../plans/plan-views.ts";
import type { Operations } from "../../sandboxes/access/operations.ts";
import { presentClaim } from "../../sandboxes/access/present-claim.ts";
import {
  type ArgumentsOf,
  METHOD_NAMES,
  type MethodName,
  type Subject,
} from "../../strategies/custom/method-table.ts";
import { isBuiltIn, type RegisteredStrategy } from "../../strategies/registered-strategy.ts";
import { newId } from "../../system/state/new-id.ts";
import type { Request } from "../link/call-queue.ts";
import type { FleetLink } from "../link/fleet-link.ts";
import { CONTRACT } from "../protocol/call.ts";
import { Caller } from "./caller.ts";

/** Methods of the contract that change nothing: only these are run without the gate of their host. */
export const LOOKS: ReadonlySet<string> = new Set<MethodName>([
  ...(["read", "diff", "stat", "list", "readPart", "saved", "readSaved", "path", "readOriginal"] as const),
  ...(["notes", "probe", "ways", "landed", "readLanded", "changedRows"] as const),
]);

/**
 * The strategies of other hosts. Each method of the contract is a call to the host that has the sandbox,
 * which runs it with its own strategy of that name, custom ones too.
 */
export class Elsewhere {
  readonly #link: FleetLink;
  readonly #caller: Caller;
  readonly #operations: Operations;
  readonly #capabilities = new Map<string, Promise<FullCapabilities>>();
  #attempts = 0;

  constructor(link: FleetLink, operations: Operations) {
    this.#link = link;
    this.#caller = new Caller(link);
    this.#operations = operations;
  }

  /** The strategy for a sandbox or a resource of another host; undefined for one of this host. */
  async find(name: string, subject: Subject): Promise<RegisteredStrategy | undefined> {
    const host = hostOf(subject);
    if (host === undefined) return undefined;
    const capabilities = await this.#capabilitiesOf(host, name, subject);
    const strategy = this.#strategy(host, name, capabilities);
    const madeWith = subject.ref?.madeWith ?? {};
    return { name, strategy, capabilities, builtIn: isBuiltIn(name), madeWith };
  }

  /** The resources of a plan that are on another host, with the strategies that it chooses. */
  async resources(host: string, requests: readonly ResourceRequest[]): Promise<readonly PlanResource[]> {
    await this.#link.hosts.one(host);
    const found = (await this.#service(host, "resources", [requests])) as readonly PlanResource[];
    return found.map((item) => ({
      ...item,
      resource: { ...item.resource, location: atHost(host, item.resource.location) },
    }));
  }

  async #service(host: string, name: string, args: readonly unknown[]): Promise<unknown> {
    const { signal } = this.#operations;
    return await this.#caller.ask({ host, request: { kind: "service", name }, args, signal });
  }

  async #capabilitiesOf(host: string, name: string, { ref, resource }: Subject): Promise<FullCapabilities> {
    const key = JSON.stringify([host, name, resource?.type ?? ref?.resourceId, ref?.madeWith ?? null]);
    const asked = this.#capabilities.get(key) ?? this.#askCapabilities(host, name, { ref, resource });
    this.#capabilities.set(key, asked);
    try {
      return await asked;
    } catch (thrown) {
      this.#capabilities.delete(key);
      throw thrown;
    }
  }

  async #askCapabilities(
    host: string,
    name: string,
    { ref, resource }: { readonly ref: SandboxRef | undefined; readonly resource: Resource | undefined },
  ): Promise<FullCapabilities> {
    const subject = {
      ...(ref !== undefined && { ref: atHome(ref) }),
      ...(resource !== undefined && { resource: resourceAtHome(resource) }),
    };
    return (await this.#service(host, "capabilities", [name, subject])) as FullCapabilities;
  }

  #strategy(host: string, name: string, capabilities: FullCapabilities): SandboxStrategy {
    const methods = METHOD_NAMES.map((method) => [
      method,
      (...args: readonly unknown[]) => this.#call(host, name, method, args as ArgumentsOf<MethodName>),
    ]);
    return {
      ...Object.fromEntries(methods),
      ...this.#here(host, name),
      name,
      capabilities,
    } as SandboxStrategy;
  }

  /** Methods that are about this machine. */
  #here(host: string, name: string): Partial<SandboxStrategy> {
    return {
      path: async (ref) => {
        const path = (await this.#call(host, name, "path", [ref])) as string | undefined;
        return path === undefined ? undefined : atHost(host, path);
      },
      // A command here sees nothing of another host.
      enter: async () => undefined,
      leave: async () => undefined,
      keepBases: async () => undefined,
      environment: async () => ({}),
      takeOver: async () => {
        throw new UnsupportedError(`What commands wrote here can't be taken over by a sandbox on ${host}.`, {
          hint: "Make a plan with that resource from the start.",
        });
      },
    };
  }

  async #call<M extends MethodName>(
    host: string,
    strategy: string,
    method: M,
    given: ArgumentsOf<M>,
  ): Promise<unknown> {
    const { signal } = this.#operations;
    const request = this.#request(host, strategy, method, given);
    const args = (given as readonly unknown[]).map(withoutHost);
    if (method === "diff") args.length = 1;
    const file = method === "writeFrom" ? { file: String(args[2]) } : {};
    const sending = { host, request, args: method === "writeFrom" ? args.slice(0, 2) : args, ...file };
    const result = await this.#caller.ask(LOOKS.has(method) ? { ...sending, signal } : sending);
    // Nothing is null in the answers of these methods: it stands for undefined, which JSON does not have.
    return method === "create" ? { ...(result as SandboxRef), host } : (result ?? undefined);
  }

  #request<M extends MethodName>(host: string, strategy: string, name: M, given: ArgumentsOf<M>): Request {
    if (LOOKS.has(name)) return { kind: "look", strategy, name };
    const [first, second] = given as readonly unknown[];
    const ref = name === "create" ? undefined : (first as SandboxRef);
    const resource = name === "create" ? (second as Resource) : undefined;
    const plan = ref?.planId ?? String(first);
    this.#attempts += 1;
    const call = {
      // Without a claim its host refuses.
      work: presentClaim()?.id ?? newId(),
      scope: "operation" as const,
      direction: "commit" as const,
      plan,
      sandbox: ref?.sandboxId ?? sandboxIdFor(plan, resource?.id ?? ""),
      original: ref?.resourceId ?? resource?.id ?? "",
      host,
      kind: "reversible" as const,
      method: "change" as const,
      attempt: this.#attempts,
      sender: this.#caller.me,
      contract: CONTRACT,
    };
    return { kind: "change", call, strategy, name };
  }

  /** The name of this host. */
  get host(): string {
    return this.#link.host;
  }
}

function hostOf({ ref, resource }: Subject): string | undefined {
  return ref?.host ?? (resource === undefined ? undefined : splitHost(resource.location)?.host);
}

/** A ref as its own host knows it. */
function atHome({ host: _, ...ref }: SandboxRef): SandboxRef {
  return ref;
}

function resourceAtHome(resource: Resource): Resource {
  return { ...resource, location: splitHost(resource.location)?.location ?? resource.location };
}

/** Refs and resources among the arguments of a method lose the name of their host. */
function withoutHost(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  if ("sandboxId" in given && "strategyName" in given) return atHome(given as SandboxRef);
  return "location" in given && "properties" in given ? resourceAtHome(given as Resource) : given;
}

import type { PlanRecord } from "../../core/plan.ts";
import { atHost, splitHost } from "../../core/resource/host-location.ts";
import type { SandboxRecord, SandboxRef } from "../../core/sandbox.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import type { Shape } from "../../core/values/shape.ts";
import { isShared, sharedKey, unshared } from "../../store/claims.ts";
import { planShape, sandboxShape, transactionShape } from "../../store/record-shapes.ts";
import type { StoreChange } from "../../store/store.ts";

/**
 * How a host sees the records of its fleet. In the database each location and each sandbox names its host. A
 * host sees its own without a name, as if it were alone, and those of others as `HOST:/path`.
 */
export class HostView {
  readonly host: string;
  /** The epoch of the lease in which this process claims. */
  epoch = 0;

  constructor(host: string) {
    this.host = host;
  }

  /** A record of the database as this host sees it. */
  seen<T>(shape: Shape, record: T): T {
    switch (shape) {
      case planShape:
        return this.#plan(record as PlanRecord, (location) => this.#seenLocation(location)) as T;
      case sandboxShape:
        return { ...record, ref: this.#seenRef((record as SandboxRecord).ref) };
      case transactionShape:
        return this.#transaction(record as TransactionRecord, (ref) => this.#seenRef(ref)) as T;
      default:
        return record;
    }
  }

  /** A change as the database keeps it. */
  shared(change: StoreChange): StoreChange {
    if (!("put" in change)) return change;
    switch (change.put) {
      case "plan": {
        const { host = this.host } = change.record;
        const record = this.#plan(change.record, (location) =>
          splitHost(location) === undefined ? atHost(this.host, location) : location,
        );
        return { put: "plan", record: { ...record, host } };
      }
      case "sandbox":
        return {
          put: "sandbox",
          record: { ...change.record, ref: this.#sharedRef(change.record.ref) },
        };
      case "transaction":
        return {
          put: "transaction",
          record: this.#transaction(change.record, (ref) => this.#sharedRef(ref)),
        };
      default:
        return change;
    }
  }

  /** The key of a claim: a path of this machine is one of this host. */
  key(key: string): string {
    const plain = unshared(key);
    if (!plain.startsWith("path:/")) return key;
    const named = plain.replace("path:", `path:${this.host}:`);
    return isShared(key) ? sharedKey(named) : named;
  }

  #plan(plan: PlanRecord, mapped: (location: string) => string): PlanRecord {
    const { host, joining, ...rest } = plan;
    const located = (items: PlanRecord["resources"]) =>
      items.map((item) => ({
        ...item,
        resource: { ...item.resource, location: mapped(item.resource.location) },
      }));
    return {
      ...rest,
      resources: located(plan.resources),
      ...(joining !== undefined && { joining: located(joining) }),
      ...(host !== undefined && host !== this.host && { host }),
    };
  }

  #transaction(record: TransactionRecord, mapped: (ref: SandboxRef) => SandboxRef): TransactionRecord {
    return {
      ...record,
      participants: record.participants.map((participant) => ({
        ...participant,
        ref: mapped(participant.ref),
      })),
    };
  }

  #seenLocation(location: string): string {
    const at = splitHost(location);
    return at?.host === this.host ? at.location : location;
  }

  #seenRef(ref: SandboxRef): SandboxRef {
    const { host, ...rest } = ref;
    return host === this.host ? rest : ref;
  }

  #sharedRef(ref: SandboxRef): SandboxRef {
    return { ...ref, host: ref.host ?? this.host };
  }
}

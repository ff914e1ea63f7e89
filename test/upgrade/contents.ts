import type { CoreClients } from "../harness/core-clients";
import type { TestMailServer } from "../harness/mail-server";
import type { PollDue } from "../harness/poll-due";
import type { Receiver } from "../harness/receiver";
import type { TestRedis } from "../harness/redis";
import { createWorkspaceApi, type WorkspaceApi } from "../harness/workspace-api";
import { nth } from "../faults/clients";
import type { Rig } from "../harness/rig";

/** The service under test, and the servers and clients around the service. */
export interface World {
  readonly rig: Rig<TestRedis>;
  readonly mail: TestMailServer;
  /** The bridge of the push workspaces that the contents create. The load uses another bridge, `rig.receiver`. */
  readonly bridge: Receiver;
  readonly due: PollDue;
  readonly clients: CoreClients;
  readonly workspaces: WorkspaceApi;
  /** The address of an edge. */
  readonly url: string;
}

export function createWorld(parts: Pick<World, "rig" | "mail" | "bridge" | "due">): World {
  const { clients } = nth(parts.rig.cores, 0);
  const { url } = nth(parts.rig.edges, 0);
  return { ...parts, clients, workspaces: createWorkspaceApi(clients.workspaces), url };
}

/**
 * One kind of data that an upgrade and a rollback must keep. The previous release writes the data when this object is
 * created.
 */
export interface Contents {
  /** Called just before all processes stop, for data that changes by itself. */
  last?(): Promise<void>;
  /** Called when all processes have stopped. */
  stopped?(): void;
  /** Checks the data, after an upgrade and after a rollback. May be called several times. */
  check(): Promise<void>;
  /** Adds data while this release runs. After the rollback, `check` also checks this data. */
  add?(): Promise<void>;
}

export type Fill = (world: World) => Promise<Contents>;

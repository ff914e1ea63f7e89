import { status as grpcStatus, type ServiceError } from "@grpc/grpc-js";
import { status } from "../harness/behaviours";
import { call } from "../harness/core-clients";
import { textEvents } from "../harness/push";
import { publish } from "../harness/service";
import { until } from "../harness/wait";
import type { Fill } from "./contents";
import { answers } from "./pushed";

/**
 * Data that the previous release does not have: kept failed events, and the log of changes. A rollback must keep the
 * data for the next upgrade.
 */
export const newer: Fill = async ({ workspaces, clients, bridge }) => {
  const { id } = await workspaces.make({ name: "newer", targetUrl: bridge.urlOf("contents.test") });
  answers.set(id, status(500));
  const read = async () => {
    const { changes } = await call(clients.workspaces, clients.workspaces.listChanges, { workspaceId: id });
    return { changes, failed: await workspaces.failedEvents(id) };
  };
  let expected: Awaited<ReturnType<typeof read>> | undefined;
  return {
    async check() {
      const found = await read().catch((error: ServiceError) => {
        // The previous release lacks these calls.
        expect(error.code).toBe(grpcStatus.UNIMPLEMENTED);
        return undefined;
      });
      if (expected !== undefined && found !== undefined) expect(found).toEqual(expected);
    },
    async add() {
      await workspaces.update(id, { name: "newer, and renamed" });
      await publish(clients, ...textEvents(id, 3));
      await until("core keeps three failed events", async () => (await read()).failed.length === 3);
      expected = await read();
      expect(expected.changes).toHaveLength(1);
    },
  };
};

import { status } from "@grpc/grpc-js";
import { Platform, type Workspace } from "../../proto/gen/chatbridge/v1/workspace";
import { poll, post, signatureOf } from "../harness/bridge";
import { textEvents } from "../harness/push";
import { publish, type TestWorkspace } from "../harness/service";
import { expectRejected } from "../harness/workspace-api";
import type { Fill } from "./contents";

/** Returns those fields of a workspace that exist in all releases. */
function fieldsOf(workspace: Workspace | undefined) {
  if (workspace === undefined) throw new Error("the answer has no workspace");
  const { id, name, ownerEmail, platform, connected, targetUrl, mode, secrets, createdAt } = workspace;
  const dates = secrets.map((secret) => [secret.createdAt, secret.expiresAt]);
  return { id, name, ownerEmail, platform, connected, targetUrl, mode, createdAt, dates };
}

/** Workspaces of all kinds, with their names, owners, modes and dates, in the order of the list. */
export const profiles: Fill = async ({ workspaces, url, bridge }) => {
  const polls = await workspaces.make({ name: "Ünïcode", ownerEmail: "owner@example.com" });
  const native = await workspaces.make({ name: "native", platform: Platform.NATIVE });
  const pushes = await workspaces.make({
    name: "pushes",
    targetUrl: bridge.urlOf("contents.test", "/a?b=c"),
  });
  const disconnected = await workspaces.make({ name: "disconnected" });
  await workspaces.disconnect(disconnected.id);
  const renamed = await workspaces.make({ name: "before" });
  await workspaces.update(renamed.id, { name: "after", ownerEmail: "new@example.com" });
  const switched = await workspaces.make({ name: "switched", targetUrl: pushes.targetUrl });
  await workspaces.setTargetUrl(switched.id, "");
  const rotated = await workspaces.make({ name: "rotated three times" });
  for (let i = 0; i < 3; i++) await workspaces.rotate(rotated.id);
  const deleted = await workspaces.make({ name: "deleted" });
  await workspaces.delete(deleted.id);

  const added: TestWorkspace[] = [];
  const list = async () => {
    const ids = [polls, native, pushes, disconnected, renamed, switched, rotated, ...added].map(
      ({ id }) => id,
    );
    return (await workspaces.list(1000)).workspaces.filter(({ id }) => ids.includes(id)).map(fieldsOf);
  };
  let expected = await list();
  return {
    async check() {
      expect(await list()).toEqual(expected);
      for (const each of expected) expect(fieldsOf((await workspaces.get(each.id)).workspace)).toEqual(each);
      await expectRejected(workspaces.get(deleted.id), status.NOT_FOUND, "");
      const answers = [polls, pushes, disconnected, deleted, ...added].map((each) => poll(url, each));
      const statuses = (await Promise.all(answers)).map((answer) => answer.status);
      expect(statuses).toEqual([200, 403, 404, 404, ...added.map(() => 200)]);
    },
    async add() {
      added.push(await workspaces.make({ name: "made by this release", ownerEmail: "owner@example.com" }));
      await workspaces.update(renamed.id, { name: "renamed by this release" });
      expected = await list();
    },
  };
};

/** A rotation in progress: bridges may use the old secret and the new secret. */
export const rotation: Fill = async ({ workspaces, url }) => {
  const { id, secret } = await workspaces.make({ name: "rotated" });
  const secrets = [(await workspaces.rotate(id)).signingSecret, secret];
  return {
    async check() {
      for (const each of secrets) {
        const event = { type: "message", channel: "c", user: { id: "u" }, text: "t" };
        expect((await post(url, { id, secret: each }, event)).status).toBe(202);
        const { headers, body } = await poll(url, { id, secret: each });
        const t = /^t=(\d+)/.exec(String(headers["service-signature"]))?.[1] ?? "";
        const digests = secrets.map((one) => signatureOf(one, body, t).slice(`t=${t}`.length));
        expect(headers["service-signature"]).toBe(`t=${t}${digests.join("")}`);
      }
    },
    async add() {
      secrets.unshift((await workspaces.rotate(id)).signingSecret);
    },
  };
};

/** A workspace that was disconnected while it held events, and is connected again by the other release. */
export const reconnected: Fill = async ({ workspaces, clients, url }) => {
  const heldAfter = async ({ id }: { readonly id: string }): Promise<number> => {
    const { signingSecret: secret } = await workspaces.connect(id);
    return ((await poll(url, { id, secret })).json as { events: unknown[] }).events.length;
  };
  const make = async () => {
    const made = await workspaces.make({ name: "reconnected" });
    await publish(clients, ...textEvents(made.id, 3));
    await workspaces.disconnect(made.id);
    return made;
  };
  const expected = await heldAfter(await make());
  // Each check connects one of these workspaces.
  const waiting = [await make(), await make(), await make()];
  return {
    async check() {
      const next = waiting.pop();
      if (next === undefined) throw new Error("all workspaces are connected");
      expect(await heldAfter(next)).toBe(expected);
    },
  };
};

/** The health of a workspace for each state that the previous release has. */
export const health: Fill = async ({ workspaces, clients, url }) => {
  const fresh = await workspaces.make({ name: "never polled, nothing held" });
  const waits = await workspaces.make({ name: "never polled, 3 held" });
  await publish(clients, ...textEvents(waits.id, 3));
  const fetched = await workspaces.make({ name: "polled, 2 of 5 held events wait" });
  await publish(clients, ...textEvents(fetched.id, 5));
  await poll(url, fetched, "limit=3");
  const ids = [fresh, waits, fetched].map(({ id }) => id);
  const read = async () => Promise.all(ids.map(async (id) => healthOf(await workspaces.get(id))));
  let expected = await read();
  return {
    async last() {
      expected = await read();
    },
    async check() {
      expect(await read()).toEqual(expected);
    },
    async add() {
      await publish(clients, ...textEvents(waits.id, 1));
      await poll(url, fetched, "limit=4");
    },
  };
};

/** Returns those fields of a poll workspace's health that exist in all releases. */
export function healthOf({ health: found }: Awaited<ReturnType<Parameters<Fill>[0]["workspaces"]["get"]>>) {
  if (found?.mode?.$case !== "poll") throw new Error("not a poll workspace");
  const { failing, failingSince, lastPollAt, waiting, oldestWaitingAt } = found.mode.value;
  return { failing, failingSince, lastPollAt, waiting, oldestWaitingAt };
}

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startConsumer } from "../../../../test/harness/consumer";
import type { ContentInit } from "../../../../test/harness/contents";
import { publish, type Service } from "../../../../test/harness/service";
import { until } from "../../../../test/harness/wait";
import { startBridge } from "./bridge-process";
import type { MatrixMember } from "./matrix-member";
import { SERVER_NAME, type TestSynapse } from "./synapse";

export type MatrixRig = Awaited<ReturnType<typeof startRig>>;

/** An event that the bridge reported to the service. */
export interface Reported {
  readonly type: string;
  readonly user: string;
  readonly name: string;
  readonly channel: string;
  readonly channelName: string;
  readonly text: string;
  readonly action: string;
  readonly messageId: string;
  readonly replyTo: string;
}

/** Starts a bridge with its own account, workspace and state folder. */
export async function startRig(
  service: Service,
  synapse: TestSynapse,
  options: { readonly account: string; readonly settings?: Readonly<Record<string, string>> },
) {
  const { account, settings = {} } = options;
  const workspace = await service.workspaces.make();
  const folder = mkdtempSync(join(tmpdir(), "cb-matrix-"));
  const environment = {
    BASE_URL: service.url,
    WORKSPACE_ID: workspace.id,
    SIGNING_SECRET: workspace.secret,
    STATE_FOLDER: join(folder, "state"),
    MATRIX_HOMESERVER: synapse.url,
    MATRIX_ACCESS_TOKEN: await synapse.account(account),
    ...settings,
  };
  const consumer = await startConsumer(service.clients.games, { group: `g${randomUUID()}` }).opened();
  consumer.ackAll();
  const id = `@${account}:${SERVER_NAME}`;
  let bridge = await startBridge(environment);

  const rig = {
    id,
    workspace,
    environment,
    get bridge() {
      return bridge;
    },
    async restart(signal: NodeJS.Signals = "SIGKILL") {
      await bridge.stop(signal);
      bridge = await startBridge(environment);
    },
    publish: (...contents: readonly ContentInit[]) =>
      publish(service.clients, ...contents.map((content) => ({ workspaceId: workspace.id, content }))),
    /** Everything that the bridge has reported so far. */
    reported: (): readonly Reported[] =>
      consumer.seen
        .filter(({ workspaceId }) => workspaceId === workspace.id)
        .map(({ received }) => {
          const { user, channel, kind } = received.event ?? {};
          const value = (kind?.value ?? {}) as Partial<Reported>;
          return {
            type: kind?.$case ?? "",
            user: user?.id ?? "",
            name: user?.name ?? "",
            channel: channel?.id ?? "",
            channelName: channel?.name ?? "",
            text: value.text ?? "",
            action: value.action ?? "",
            messageId: value.messageId ?? "",
            replyTo: value.replyTo ?? "",
          };
        }),
    /** Waits for a report from the bridge. */
    reports: (what: string, isIt: (report: Reported) => boolean): Promise<Reported> =>
      until(`the report of ${what}`, () => rig.reported().find(isIt)),
    /** Creates a room that the member owns. Resolves once the bridge has joined the room. */
    async room(member: MatrixMember, { isPowerful = true, name = "Games" } = {}): Promise<string> {
      const roomId = await member.createRoom({ name }, id);
      await until("the bridge has joined", async () => (await member.membershipOf(roomId, id)) === "join");
      if (isPowerful) await member.promote(roomId, id);
      return roomId;
    },
    async close() {
      consumer.cancel();
      await bridge.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return rig;
}

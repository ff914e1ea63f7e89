import { reset, status } from "../harness/behaviours";
import { startMailServer, type TestMailServer } from "../harness/mail-server";
import { openPollDue } from "../harness/poll-due";
import { startTestRedis } from "../harness/redis";
import { startRig, type Rig } from "../harness/rig";
import { publish, textEvent } from "../harness/service";
import { HANG_MS, until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";
import { nth } from "./clients";
import { survive } from "./fault";

let rig: Rig;
let mail: TestMailServer;
beforeAll(async () => {
  mail = await startMailServer();
  const settings = { SMTP_URL: mail.url, MAIL_FROM: "bridges@example.test" };
  rig = await startRig(startTestRedis, { settings });
});
afterAll(async () => {
  await rig.close();
  await mail.close();
});

/**
 * Accepts a push and closes the connection, so that every push needs a new connection and a lookup of the bridge's
 * name.
 */
const TAKEN_AND_CLOSED = { ok: true, behaviour: status(204, { headers: { Connection: "close" } }) };
const OUTAGE_MS = 5 * 60_000;

/** Waits until the cores have logged `count` lines with this message. */
const untilLogged = (message: string, count: number) =>
  until(`"${message}" was logged`, () => rig.coreLog().filter(({ msg }) => msg === message).length >= count);

// contract: health-mail-once
test("while the SMTP server is down, events still arrive; afterwards the owner is emailed once", async () => {
  const { clients } = nth(rig.cores, 0);
  const owner = "owner@example.test";
  const { id } = await createWorkspaceApi(clients.workspaces).make({ ownerEmail: owner });
  const due = await openPollDue(rig.redis);
  try {
    await survive(rig, {
      name: "SMTP down",
      async happens(load) {
        await mail.stop();
        await publish(clients, textEvent(id, "waits"));
        await until("the event waits to be polled", async () => (await due.of(id)) !== undefined);
        await due.pass(id, OUTAGE_MS);
        await untilLogged("an email could not be sent; core will retry", 1);
        await load.grows();
        await mail.start();
        // Core retries the email with growing pauses of up to a minute.
        await mail.waitFor(1, 2 * HANG_MS);
      },
    });
    expect(mail.messages.map(({ to }) => to)).toEqual([[owner]]);
  } finally {
    await due.close();
  }
});

test("while DNS lookups fail, pushes are retried, then dropped and logged; other events still arrive", async () => {
  const { dropped } = await survive(rig, {
    name: "DNS down",
    drops: ["failed"],
    answer: () => TAKEN_AND_CLOSED,
    async happens() {
      rig.names.set(rig.bridgeName, "SERVFAIL");
      await untilLogged("a push was dropped", 20);
      rig.names.set(rig.bridgeName, ["127.0.0.1"]);
    },
  });
  expect(dropped["failed"]).toBeGreaterThanOrEqual(20);
});

// contract: retry-create, retry-same-id
test("each event reaches a bridge that resets every second connection, unless all attempts to push the event fail", async () => {
  const before = rig.receiver.requests.length;
  let connections = 0;
  let isBad = false;
  const { pushed } = await survive(rig, {
    name: "a receiver that resets every second connection",
    drops: ["failed"],
    answer() {
      connections += 1;
      if (isBad && connections % 2 === 0) return { ok: false, behaviour: reset() };
      return TAKEN_AND_CLOSED;
    },
    async happens(load) {
      isBad = true;
      for (let times = 0; times < 3; times++) await load.grows();
      isBad = false;
    },
  });
  expect(rig.receiver.requests.length - before).toBeGreaterThan(pushed);
});

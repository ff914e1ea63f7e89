import { expectSound } from "../faults/fault";
import { startLoad, type Load } from "../faults/load";
import { startMailServer } from "../harness/mail-server";
import { openPollDue } from "../harness/poll-due";
import { THIS_RELEASE } from "../harness/processes";
import { startReceiver } from "../harness/receiver";
import { startTestRedis } from "../harness/redis";
import { startRig } from "../harness/rig";
import { createWorld, type Contents, type Fill, type World } from "./contents";
import { followed } from "./followed";
import { allFetched, gap, large, neverHeld, neverPolled, partlyFetched } from "./held";
import { outages } from "./outages";
import { newer } from "./newer";
import { keys } from "./published-once";
import { behave, deliveryLog, queued, retried } from "./pushed";
import {
  BEFORE,
  describeUpgrade,
  FORMAT_BEFORE,
  migrate,
  startAll,
  stopAll,
  VERSION_BEFORE,
} from "./releases";
import { health, profiles, reconnected, rotation } from "./workspaces";

/** All contents, by their names. Some contents are last, because they change while the processes stop. */
const FILLS: Readonly<Record<string, Fill>> = {
  "the health of workspaces": health,
  "workspaces of all kinds": profiles,
  "a rotation of secrets": rotation,
  "disconnected workspaces with held events": reconnected,
  "held events of a bridge that never polled": neverPolled,
  "held events of a bridge that has fetched some of them": partlyFetched,
  "many large held events": large,
  "held events that were all fetched": allFetched,
  "a workspace that never held an event": neverHeld,
  "held events after a gap": gap,
  "groups with unread and unacked events, and the ids of requests": followed,
  "idempotency keys": keys,
  "the log of pushes": deliveryLog,
  "data that only this release knows": newer,
  "queued pushes": queued,
  "a push that is retried": retried,
  "bridges that have stopped polling, and emails": outages,
};
const NAMES = Object.keys(FILLS);

/** Reasons for which a queued push may be dropped when all processes stop for longer than 10 s. */
const DROPS = ["outage", "overloaded", "expired"];

async function startWorld() {
  const mail = await startMailServer();
  const settings = { SMTP_URL: mail.url, MAIL_FROM: "bridges@example.com" };
  const rig = await startRig(startTestRedis, { settings, release: BEFORE });
  rig.names.set("contents.test", ["127.0.0.1"]);
  const bridge = await startReceiver({
    certificate: rig.ca.issue(["contents.test"]),
    names: ["contents.test"],
  });
  const due = await openPollDue(rig.redis);
  const world = createWorld({ rig, mail, bridge, due });
  behave(world);
  return {
    world,
    async close() {
      await due.close();
      await rig.close();
      await bridge.close();
      await mail.close();
    },
  };
}

/** Stops all processes while the load continues, migrates the data, and starts all processes of another release. */
async function change(
  { rig }: World,
  contents: ReadonlyMap<string, Contents>,
  release: string,
  ...to: readonly string[]
) {
  for (const { last } of contents.values()) await last?.();
  await stopAll(rig);
  for (const { stopped } of contents.values()) stopped?.();
  await migrate(rig.redis.url, ...to);
  await startAll(rig, release);
}

// time: ordering
describeUpgrade(`an upgrade from ${VERSION_BEFORE}, and back`, () => {
  const contents = new Map<string, Contents>();
  let started: Awaited<ReturnType<typeof startWorld>>;
  let load: Load;
  const check = (name: string) => contents.get(name)?.check();

  beforeAll(async () => {
    started = await startWorld();
    for (const [name, fill] of Object.entries(FILLS)) contents.set(name, await fill(started.world));
    load = await startLoad(started.world.rig);
    await load.grows();
  });
  afterAll(() => started.close());

  describe("after the upgrade", () => {
    beforeAll(() => change(started.world, contents, THIS_RELEASE));
    test.each(NAMES)("%s", check);
    test("the traffic goes on", () => load.grows());
  });

  describe("after the rollback", () => {
    beforeAll(async () => {
      for (const { add } of contents.values()) await add?.();
      await change(started.world, contents, BEFORE, "--to", FORMAT_BEFORE);
    });
    test.each(NAMES)("%s", check);
    test("the traffic goes on", () => load.grows());
  });

  describe("after the next upgrade", () => {
    beforeAll(() => change(started.world, contents, THIS_RELEASE));
    test.each(NAMES)("%s", check);
    test("no event of the traffic was lost", async () => {
      await load.grows();
      expectSound(await load.finish({ drops: DROPS }));
    });
  });
});

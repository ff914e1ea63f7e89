import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import type { Break } from "../../demo/chat/shapes";
import { joinChat, type ChatMember } from "../harness/chat-member";
import { create } from "../harness/contents";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { publish } from "../harness/service";
import { until } from "../harness/wait";

let demo: DemoChat;
let ada: ChatMember;
let bob: ChatMember;
beforeAll(async () => {
  demo = await startDemoChat();
  [ada, bob] = await Promise.all([joinChat(demo.url, "Ada"), joinChat(demo.url, "Bob")]);
});
afterAll(async () => {
  ada.leave();
  bob.leave();
  await demo.close();
});

const START = { channel: "general", text: "start" };
const breakIt = (how: Break, lastCommand: object | null = START) =>
  ada.ask("PUT", "/link/break", { how, lastCommand });
const health = async () => (await demo.service.workspaces.get(demo.workspace.id)).health?.mode;

async function post(text: string) {
  const content = create("general", { kind: MessageKind.CARD, text });
  await publish(demo.service.clients, { workspaceId: demo.workspace.id, content });
}

/** Returns a function that lists the exchanges that have begun since this call. */
function fromNow() {
  const last = Math.max(0, ...ada.exchanges.keys());
  return (what: string) => [...ada.exchanges.values()].filter((each) => each.id > last && each.what === what);
}

// time: smoke
test.each<[Break, string, number | undefined]>([
  ["secret", "401", 401],
  ["slow", "the bridge was too slow, and the service no longer waited", undefined],
  ["unavailable", "503", undefined],
  ["clock", "409", 409],
])(
  "the break %s makes the push of the game's answer to the bridge's command fail; after the repair, pushes arrive",
  async (how, pushed, reported) => {
    await bob.ask("PUT", "/link/mode", { mode: "poll" });
    const since = fromNow();
    expect(await breakIt(how)).toBe(204);
    await until("everyone sees the break", () => bob.link().broken !== null);
    expect(bob.link()).toMatchObject({ broken: { how, by: "Ada" }, mode: "push" });
    const failed = await until("a push has failed", () => since("push")[0]);
    expect(failed.failure ?? String(failed.answer?.status)).toBe(pushed);
    expect(failed.eventIds).toEqual([expect.stringMatching(/^evt_/)]);
    await until("the service has noticed", async () => {
      const mode = await health();
      return mode?.$case === "push" && mode.value.attempts > mode.value.successes;
    });
    const refused = () => since("report").some(({ answer }) => answer?.status === reported);
    if (reported !== undefined) await until("the service refuses a report", refused);
    expect(await breakIt("cut")).toBe(409);
    expect(await bob.ask("PUT", "/link/mode", { mode: "poll" })).toBe(409);

    expect(await bob.ask("DELETE", "/link/break")).toBe(204);
    await until("everyone sees the repair", () => ada.link().broken === null);
    expect(ada.link()).toMatchObject({ mode: "push", problem: null });
    await post(`after ${how}`);
    await bob.sees(`after ${how}`);
  },
);

test("a break without a command posts no event; repairing a bridge that is not broken does nothing", async () => {
  const since = fromNow();
  expect(await breakIt("unavailable", null)).toBe(204);
  expect(await breakIt("secret", null)).toBe(409);
  expect(await ada.ask("DELETE", "/link/break")).toBe(204);
  expect(await ada.ask("DELETE", "/link/break")).toBe(204);
  expect(since("report")).toEqual([]);
  expect(await ada.ask("PUT", "/link/break", { how: "explode", lastCommand: null })).toBe(400);
});

test("a bridge that cannot receive pushes can be given a wrong secret, but cannot be made slow; after the repair, it polls immediately", async () => {
  const pollOnly = await startDemoChat({}, { PUSH_TLS_CERT: "", PUSH_TLS_KEY: "", MODE_SOCKET: "" });
  try {
    const cyd = await joinChat(pollOnly.url, "Cyd");
    const broken = (how: Break) => cyd.ask("PUT", "/link/break", { how, lastCommand: START });
    expect([await broken("slow"), await broken("unavailable")]).toEqual([409, 409]);
    expect(await broken("secret")).toBe(204);
    await until("the polls are refused", () => cyd.link().problem?.includes("401"));
    expect(cyd.link()).toMatchObject({ mode: "poll", broken: { how: "secret" } });
    expect(await cyd.ask("DELETE", "/link/break")).toBe(204);
    // The game answers the command that the bridge posted before it was broken.
    await cyd.sees("opens a game");
    expect(cyd.link()).toMatchObject({ problem: null, broken: null });
    cyd.leave();
  } finally {
    await pollOnly.close();
  }
});

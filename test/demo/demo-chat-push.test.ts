import { spawnSync } from "node:child_process";
import { request, type RequestOptions } from "node:https";
import { join } from "node:path";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { poll, signatureOf } from "../harness/bridge";
import { joinChat, type ChatMember } from "../harness/chat-member";
import { published } from "../harness/contents";
import { startDemoChat, type DemoChat } from "../harness/demo-chat";
import { publish } from "../harness/service";
import { stopInTime } from "../harness/stopping";
import { until } from "../harness/wait";
import { createWorkspaceApi } from "../harness/workspace-api";

const WITHIN_MS = 30_000;
let demo: DemoChat;
let ada: ChatMember;
beforeAll(async () => {
  demo = await startDemoChat();
  ada = await joinChat(demo.url, "Ada");
}, 120_000);
afterAll(async () => {
  ada.leave();
  await demo.close();
});
jest.setTimeout(120_000);

const targetUrl = async (): Promise<string> =>
  (await createWorkspaceApi(demo.service.clients.workspaces).get(demo.workspace.id)).workspace?.targetUrl ??
  "";

async function post(text: string): Promise<string> {
  const message = { kind: MessageKind.CARD, text };
  const [created] = await publish(demo.service.clients, {
    workspaceId: demo.workspace.id,
    content: { $case: "messageCreate", value: { channel: "general", message } },
  });
  return created === undefined ? "" : (published(created).messageId ?? "");
}

const pushes = () => [...ada.exchanges.values()].filter(({ what }) => what === "push");

test("what is held when a target URL is set is fetched before, by one last poll", async () => {
  await post("held before");
  expect(await ada.ask("PUT", "/link/mode", { mode: "push" })).toBe(204);
  await ada.sees("held before");
  expect(pushes()).toEqual([]);
  await until("the page knows", () => ada.link().mode === "push" && !ada.link().isSwitching, WITHIN_MS);
  expect(ada.link().problem).toBeNull();
  expect(await targetUrl()).toBe(demo.targetUrl);
});

// contract: workspace-modes, poll-403
test("in push mode events are pushed, and polls are answered 403", async () => {
  const before = [...ada.exchanges.values()].filter(({ what }) => what === "poll").length;
  await post("pushed");
  await ada.sees("pushed");
  const onTheWire = await until("it is on the wire", () => pushes().at(-1), WITHIN_MS);
  expect(onTheWire).toMatchObject({ path: "/pushes", answer: { status: 204 } });
  expect((await poll(demo.service.url, demo.workspace)).status).toBe(403);
  const after = [...ada.exchanges.values()].filter(({ what }) => what === "poll").length;
  expect(after).toBe(before);
});

/** Asks where pushes arrive; answers the status. */
function askThere(url: string | URL, options: RequestOptions, body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { ...options, rejectUnauthorized: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
      .on("error", reject)
      .end(body);
  });
}

test("the chat's own place for pushes takes nothing that is not signed", async () => {
  expect([401, 404]).toContain(await askThere(demo.targetUrl, { method: "POST" }, "{}"));
});

test("a chat that was not told to says to nobody what it shows", async () => {
  const headers = { "service-signature": signatureOf(demo.workspace.secret, "") };
  expect(await askThere(new URL("/observe", demo.targetUrl), { headers })).toBe(404);
});

// contract: retry-create, retry-never, push-missed
test("what is sent while a push bridge's network is cut is tried again, and what is never retried is missed", async () => {
  const messageId = await post("before the cut");
  const shown = await ada.sees("before the cut");
  await ada.ask("PUT", "/link/cut", { isCut: true });
  await publish(demo.service.clients, {
    workspaceId: demo.workspace.id,
    content: {
      $case: "messageUpdate",
      value: {
        channel: "general",
        message: { id: messageId, kind: MessageKind.ANSWER_UPDATE, text: "a tally that nobody saw" },
      },
    },
  });
  await post("retried");
  await until(
    "the first attempts have failed",
    async () => {
      const api = createWorkspaceApi(demo.service.clients.workspaces);
      const { health } = await api.get(demo.workspace.id);
      if (health?.mode?.$case !== "push") return false;
      return health.mode.value.attempts - health.mode.value.successes >= 2;
    },
    WITHIN_MS,
  );
  await ada.ask("PUT", "/link/cut", { isCut: false });
  await ada.sees("retried");
  expect(ada.posts.get(shown.id)).toMatchObject({ edits: 0, message: { text: "before the cut" } });
});

test("the mode cannot be changed while the network is cut", async () => {
  await ada.ask("PUT", "/link/cut", { isCut: true });
  expect(await ada.ask("PUT", "/link/mode", { mode: "poll" })).toBe(409);
  await ada.ask("PUT", "/link/cut", { isCut: false });
  await until("the page knows", () => !ada.link().isCut, WITHIN_MS);
  expect(ada.link().mode).toBe("push");
});

// contract: mode-to-poll
test("when the target URL is cleared events are held from then on, and polling goes on where it was", async () => {
  expect(await ada.ask("PUT", "/link/mode", { mode: "poll" })).toBe(204);
  expect(await targetUrl()).toBe("");
  await post("polled again");
  await ada.sees("polled again");
  const texts = [...ada.posts.values()].flatMap((each) => (each.by === "service" ? [each.message.text] : []));
  expect(texts).toEqual(["held before", "pushed", "before the cut", "retried", "polled again"]);
});

test("a chat that stops in push mode clears its target URL, and one that was killed has the next one do so", async () => {
  await ada.ask("PUT", "/link/mode", { mode: "push" });
  expect(await stopInTime(demo.chat)).toBe(0);
  expect(await targetUrl()).toBe("");

  const next = await demo.startAgain();
  const bob = await joinChat(`http://127.0.0.1:${next.port}`, "Bob");
  await bob.ask("PUT", "/link/mode", { mode: "push" });
  bob.leave();
  await next.stop("SIGKILL");
  expect(await targetUrl()).toBe(demo.targetUrl);
  const last = await demo.startAgain();
  expect(await targetUrl()).toBe("");

  expect(await last.stop()).toBe(0);
});

test("a target URL that somebody has set for another bridge stays, and the chat says that it is not served", async () => {
  const api = createWorkspaceApi(demo.service.clients.workspaces);
  // Nothing is published from here on, so nothing is sent there.
  await api.setTargetUrl(demo.workspace.id, "https://8.8.8.8/events");
  const chat = await demo.startAgain();
  const cyd = await joinChat(`http://127.0.0.1:${chat.port}`, "Cyd");
  await until("it has polled", () => cyd.link().problem?.includes("403"), WITHIN_MS);
  expect(await targetUrl()).toBe("https://8.8.8.8/events");
  cyd.leave();
});

describe("the command line", () => {
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [join(__dirname, "../../dist/demo/chat/main.js"), ...args], {
      env,
      encoding: "utf8",
    });

  test("--help names every setting and exits with 0", () => {
    const { status, stdout } = run(["--help"]);
    expect(status).toBe(0);
    for (const name of ["BASE_URL", "SIGNING_SECRET", "CHAT_LISTEN", "PUSH_TLS_CERT", "MODE_SOCKET"]) {
      expect(stdout).toContain(`  ${name}`);
    }
  });

  test("an argument that there is none of exits with 64", () => {
    expect(run(["--loud"])).toMatchObject({
      status: 64,
      stderr: expect.stringContaining("--help") as string,
    });
  });

  test("faulty settings are all named at once, without their values, and exit with 78", () => {
    const { status, stderr } = run([], {
      BASE_URL: "nowhere",
      CHAT_LISTEN: "8083",
      PUSH_TLS_KEY: "/nowhere/else",
      IMAGE_SOURCES: "*; script-src *",
    });
    expect(status).toBe(78);
    const names = [
      "BASE_URL",
      "WORKSPACE_ID",
      "SIGNING_SECRET",
      "CHAT_LISTEN",
      "PUSH_TLS_KEY",
      "IMAGE_SOURCES",
    ];
    for (const name of names) expect(stderr).toMatch(new RegExp(`^ {2}- ${name} `, "m"));
    expect(stderr).not.toContain("nowhere");
  });
});

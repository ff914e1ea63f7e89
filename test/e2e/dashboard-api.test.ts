import type { SummariesShape, WorkspacePage } from "../../proto/json/shapes";
import { poll } from "../harness/bridge";
import { askApi, signIn, startDashboardEdge, type ApiRequest } from "../harness/dashboard";
import { openPollDue } from "../harness/poll-due";
import { startCore, TOKENS } from "../harness/processes";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const { workspaces } = service;
let cookie: string;
beforeAll(async () => {
  cookie = await signIn(service.dashboardUrl);
});

const ask = (path: string, request: ApiRequest = {}) =>
  askApi(service.dashboardUrl, path, { cookie, ...request });
const FIVE_MINUTES_MS = 5 * 60 * 1000;
const NOBODY = "11111111-2222-4333-8444-555555555555";

// contract: secret-shown-once
test("only the answer that creates a workspace contains its signing secret", async () => {
  const body = { name: "Made here", ownerEmail: "ada@example.com" };
  const made = await ask("/workspaces", { method: "POST", body });
  const { workspace, signingSecret } = made.json as { workspace: { id: string }; signingSecret: string };
  expect(made.status).toBe(201);
  expect(workspace).toMatchObject({ ...body, connected: true, custom: true, mode: "poll", targetUrl: "" });
  const later = await ask(`/workspaces/${workspace.id}`);
  expect(later.json).toEqual({ workspace, health: expect.objectContaining({ mode: "poll" }) as object });
  expect(later.body.toString()).not.toContain(signingSecret);
});

test("the changes of a workspace are listed, newest first, with the name of the token and without secrets", async () => {
  const { id, secret } = await workspaces.make({ name: "Changing" });
  await ask(`/workspaces/${id}`, { method: "PATCH", body: { name: "Changed" } });
  const rotated = await ask(`/workspaces/${id}/rotate-secret`, { method: "POST" });
  const answer = await ask(`/workspaces/${id}/changes`);
  const by = "operator";
  expect(answer.json).toMatchObject([
    { by, change: "secret-rotated", detail: "" },
    { by, change: "renamed", detail: "Changing → Changed" },
    { by, change: "created", detail: "Changing" },
  ]);
  const [{ at }] = answer.json as [{ at: string }];
  expect(new Date(at).toISOString()).toBe(at);
  const { signingSecret } = rotated.json as { signingSecret: string };
  for (const each of [secret, signingSecret]) expect(answer.body.toString()).not.toContain(each);
});

test("a request that a limited token may not make is answered with 403 and the reason, and the session continues", async () => {
  const { id } = await workspaces.make();
  const token = "token-of-ann-for-tests";
  const core = await startCore(service.redis.url, {
    CORE_TOKENS: `edge=${TOKENS.edge},operator:ann@${id}=${token}`,
  });
  const { edge, url } = await startDashboardEdge(core.port);
  const own = { cookie: await signIn(url, token) };
  expect((await askApi(url, "/session", own)).json).toMatchObject({ tokenName: "ann", workspaces: [id] });
  const created = await askApi(url, "/workspaces", { ...own, method: "POST", body: { name: "new" } });
  const message = expect.stringMatching(/^The token ann is limited to some workspaces/) as string;
  expect([created.status, created.json]).toEqual([403, expect.objectContaining({ message })]);
  expect((await askApi(url, "/session", own)).status).toBe(200);
  await edge.stop();
  await core.stop();
});

describe("errors:", () => {
  test.each([
    ["name", "The name must be 1 to 128 characters.", "x".repeat(129)],
    ["ownerEmail", "The owner's email must be", "nobody"],
    // contract: push-https
    ["targetUrl", "must begin with https", "http://x.example"],
    ["targetUrl", "10.0.0.1", "https://10.0.0.1/"],
  ])("the error answer for an invalid %s names the field and says: %s", async (field, words, value) => {
    const answer = await ask("/workspaces", { method: "POST", body: { name: "x", [field]: value } });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ field, message: expect.stringContaining(words) as string });
  });

  test.each([
    ["GET", ""],
    ["GET", "/deliveries"],
    ["GET", "/changes"],
    ["POST", "/rotate-secret"],
    ["POST", "/test-event"],
    ["POST", "/connect"],
  ])(
    "a request for an unknown workspace is answered with 404 and the reason: %s %s",
    async (method, path) => {
      const answer = await ask(`/workspaces/${NOBODY}${path}`, { method });
      expect([answer.status, (answer.json as { message: string }).message]).toEqual([
        404,
        "The workspace does not exist.",
      ]);
    },
  );

  test("a change that the workspace's state does not allow is answered with 409 and the reason", async () => {
    const { id } = await workspaces.make();
    const answer = await ask(`/workspaces/${id}/connect`, { method: "POST" });
    expect(answer.status).toBe(409);
    expect((answer.json as { message: string }).message).toMatch(/connected.*\.$/);
  });

  test("while core is unavailable, the error answer says so", async () => {
    const alone = await startDashboardEdge(1, {}, "listening");
    const answer = await askApi(alone.url, "/session", { method: "POST", body: { token: "whoever-it-is" } });
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "1"]);
    expect(answer.json).toMatchObject({ message: "The service's core does not answer right now." });
    await alone.edge.stop();
  });
});

test("a workspace is deleted only when its exact name is sent", async () => {
  const { id } = await workspaces.make({ name: "Precious" });
  const remove = (name: string) => ask(`/workspaces/${id}`, { method: "DELETE", body: { name } });
  expect((await remove("precious")).status).toBe(409);
  expect((await ask(`/workspaces/${id}`)).status).toBe(200);
  expect((await remove("Precious")).status).toBe(204);
  expect((await ask(`/workspaces/${id}`)).status).toBe(404);
});

describe("searching:", () => {
  test.each([
    ["its name in any case", "ÉCLAIR"],
    ["its owner", "jules@"],
    ["its id", ""],
  ])("finds a workspace by %s", async (_by, words) => {
    const { id } = await workspaces.make({ name: "Café éclair", ownerEmail: "jules@example.com" });
    const search = encodeURIComponent(words || id.toUpperCase());
    const found = (await ask(`/workspaces?search=${search}`)).json as { workspaces: { id: string }[] };
    expect(found.workspaces.map((each) => each.id)).toContain(id);
  });

  test("a search without matches returns the number of searched workspaces, and no further page", async () => {
    let total = 0;
    for (let page = await workspaces.list(1_000); ; page = await workspaces.list(1_000, page.nextPageToken)) {
      total += page.workspaces.length;
      if (page.nextPageToken === "") break;
    }
    expect((await ask("/workspaces?search=no-such-words")).json).toEqual({
      workspaces: [],
      next: null,
      lookedThrough: total,
      notice: null,
      summaries: {},
      counts: expect.objectContaining({ failing: expect.any(Number) as number }) as object,
    });
    expect((await ask(`/workspaces?search=${NOBODY}`)).json).toMatchObject({ workspaces: [], next: null });
  });
});

test("existing workspaces are returned with their health, and unknown ids are omitted", async () => {
  const [one, other] = [await workspaces.make(), await workspaces.make()];
  const answer = await ask(`/health?ids=${one.id},${NOBODY},${other.id}`);
  const view = ({ id }: { id: string }) => ({
    workspace: expect.objectContaining({ id, connected: true }) as object,
    health: expect.objectContaining({ mode: "poll", state: "unused", failing: false }) as object,
  });
  expect(answer.json).toEqual({ [one.id]: view(one), [other.id]: view(other) });
});

test("workspaces are listed with their summaries and counts, and the summaries of shown workspaces can be read again", async () => {
  const [off, unused] = [await workspaces.make(), await workspaces.make()];
  await workspaces.disconnect(off.id);
  const page = (await ask("/workspaces?state=disconnected&size=100")).json as WorkspacePage;
  expect(page.workspaces.map(({ id }) => id)).toContain(off.id);
  expect(page.workspaces.map(({ id }) => id)).not.toContain(unused.id);
  expect(page.summaries[off.id]).toEqual({
    state: "disconnected",
    failingSince: null,
    recoveredAt: null,
    lastPollAt: null,
    lastAttempt: null,
    lastHour: [],
  });
  expect(page.counts?.disconnected).toBe(page.workspaces.length);
  const answer = await ask(`/summaries?ids=${off.id},${NOBODY},${unused.id}`);
  const view = ({ id }: { id: string }, state: string) => ({
    workspace: expect.objectContaining({ id }) as object,
    summary: expect.objectContaining({ state }) as object,
  });
  expect((answer.json as SummariesShape).workspaces).toEqual({
    [off.id]: view(off, "disconnected"),
    [unused.id]: view(unused, "unused"),
  });
  expect((await ask("/counts")).json).toEqual({ counts: (answer.json as SummariesShape).counts });
  expect((await ask("/workspaces?state=unknown")).status).toBe(400);
  const found = (await ask(`/workspaces?state=unused&search=${unused.id}`)).json as WorkspacePage;
  expect(found.workspaces.map(({ id }) => id)).toEqual([unused.id]);
});

describe("live updates:", () => {
  /** Opens a watch, and reads its server-sent events. `text` of the result is everything received so far. */
  async function watch(id: string, as = cookie, url = service.dashboardUrl) {
    const stop = new AbortController();
    const answer = await fetch(`${url}/api/workspaces/${id}/watch`, {
      headers: { cookie: as },
      signal: stop.signal,
    });
    const watched = { status: answer.status, text: "", ended: false, stop: () => stop.abort() };
    void (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) watched.text += decoder.decode(chunk as Uint8Array);
    })()
      .catch(() => undefined)
      .finally(() => (watched.ended = true));
    return watched;
  }

  // contract: poll-is-delivery
  test("a watch of a workspace immediately sends its health, and later each change of the health, each poll and the deletion", async () => {
    const workspace = await workspaces.make();
    const watched = await watch(workspace.id);
    await until("the health arrives", () => watched.text.includes('event: health\ndata: {"mode":"poll"'));
    await publish(service.clients, textEvent(workspace.id, "hello"));
    const due = await openPollDue(service.redis);
    await due.pass(workspace.id, FIVE_MINUTES_MS);
    await due.close();
    const latest = () => watched.text.split("event: health\n").at(-1) ?? "";
    await until("the workspace is failing", () => /^data: {[^\n]*"failing":true/.test(latest()));
    await poll(service.url, workspace);
    await until("the workspace is healthy", () => /^data: {[^\n]*"failing":false/.test(latest()));
    await until("the poll arrives", () =>
      /event: delivery\ndata: {[^\n]*"eventType":"poll"/.test(watched.text),
    );
    await workspaces.delete(workspace.id);
    await until("the watch ends", () => watched.text.includes("event: gone") && watched.ended);
  });

  // time: ordering
  test("a watch of a workspace stays open while core is unavailable, reports the outage, and continues afterwards", async () => {
    const { id } = await workspaces.make();
    const core = await startCore(service.redis.url);
    const alone = await startDashboardEdge(core.port);
    const watched = await watch(id, await signIn(alone.url), alone.url);
    const events = () => [...watched.text.matchAll(/^event: (\w+)$/gm)].map(([, event]) => event);
    await until("core is available", () => events().at(-1) === "available");
    try {
      // A suspended core keeps its connections open and sends nothing on them.
      process.kill(core.pid, "SIGSTOP");
      await until("core is unavailable", () => events().at(-1) === "unavailable");
    } finally {
      process.kill(core.pid, "SIGCONT");
    }
    await until("core is available again", () => events().at(-1) === "available");
    expect(events()).toContain("requests");
    const states = events().filter((event) => event !== "requests");
    expect(states.join(" ")).toMatch(
      /^(unavailable )*health (available )+(unavailable )+(health )?(available ?)+$/,
    );
    await core.stop("SIGKILL");
    await until("core is unavailable again", () => events().at(-1) === "unavailable");
    expect(watched.ended).toBe(false);
    watched.stop();
    await alone.edge.stop();
  });

  test("a watch of a workspace ends when the user signs out", async () => {
    const { id } = await workspaces.make();
    const mine = await signIn(service.dashboardUrl);
    const watched = await watch(id, mine);
    await until("the health arrives", () => watched.text.includes("event: health"));
    await askApi(service.dashboardUrl, "/session", { method: "DELETE", cookie: mine });
    await until("the watch ends", () => watched.ended);
  });

  test("a watch of a workspace ends when the edge stops, and does not delay the stop", async () => {
    const { id } = await workspaces.make();
    const stopping = await startDashboardEdge(service.core.port);
    const own = await signIn(stopping.url);
    const answer = await fetch(`${stopping.url}/api/workspaces/${id}/watch`, { headers: { cookie: own } });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(await stopping.edge.stop()).toBe(0);
    await expect(answer.text()).resolves.toContain("retry: ");
  });
});

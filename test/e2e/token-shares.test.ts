import { connect, constants, type ClientHttp2Session, type IncomingHttpHeaders } from "node:http2";
import { status, type ServiceError } from "@grpc/grpc-js";
import { OutboundEvent, PublishEventsRequest } from "../../proto/gen/chatbridge/v1/game";
import { ListWorkspacesRequest, type WatchWorkspaceResponse } from "../../proto/gen/chatbridge/v1/workspace";
import { bearer } from "../../runtime/core-channel";
import { call, connectToCore, type CoreClients } from "../harness/core-clients";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import { textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const ANN = "token-of-ann-for-tests";
const TRIVIA = "token-of-trivia-for-tests";
const MB = 1_048_576;

const service = sharedService();
let core: TestProcess;
let clients: CoreClients;
let inside: TestWorkspace;
let outside: TestWorkspace;
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  [inside, outside] = await Promise.all([service.workspaces.make(), service.workspaces.make()]);
  const all = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
  const limited = [`operator:ann@${inside.id}=${ANN}`, `game:trivia@${inside.id}=${TRIVIA}`];
  core = await startCore(service.redis.url, { CORE_TOKENS: [...all, ...limited].join() });
  clients = connectToCore(core.port);
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  clients.close();
  await core.stop();
});

/**
 * Makes calls whose client never reads the answers. Returns the headers of each answer. The headers of a rejected call
 * contain its status. An accepted call has no headers, because core cannot send its answer completely. If `isComplete`
 * is false, the last byte of each request is missing.
 */
function callWithoutReading(
  token: string,
  path: string,
  request: Uint8Array,
  { count, isComplete = true }: { readonly count: number; readonly isComplete?: boolean },
) {
  // By default, Node's HTTP/2 client resets streams once its unsent requests exceed 10 MB.
  const options = { settings: { initialWindowSize: 0 }, maxSessionMemory: 100 };
  const session = connect(`http://127.0.0.1:${core.port}`, options);
  sessions.push(session);
  session.on("error", () => undefined);
  const heads = Array.from({ length: count }, (): { head: IncomingHttpHeaders | undefined } => {
    const answer: { head: IncomingHttpHeaders | undefined } = { head: undefined };
    const frame = Buffer.alloc(5 + request.length);
    frame.writeUInt32BE(request.length + (isComplete ? 0 : 1), 1);
    frame.set(request, 5);
    const asked = session
      .request({
        [constants.HTTP2_HEADER_METHOD]: "POST",
        [constants.HTTP2_HEADER_PATH]: `/${path}`,
        "content-type": "application/grpc",
        te: "trailers",
        authorization: `Bearer ${token}`,
      })
      .on("error", () => undefined)
      .on("response", (head) => (answer.head = head));
    if (isComplete) asked.end(frame);
    else asked.write(frame);
    return answer;
  });
  return {
    session,
    /** Waits until core has answered at least `least` calls, by default all. */
    heads: (least = count) =>
      until(`core answers ${least} calls`, () => {
        const answered = heads.map(({ head }) => head).filter((head) => head !== undefined);
        return answered.length >= least && answered;
      }),
  };
}

const rejected = (heads: readonly IncomingHttpHeaders[]) =>
  heads.filter((head) => head["grpc-status"] !== undefined);

test("a token that is limited to workspaces can open at most 100 watches; other tokens can still open watches", async () => {
  const watch = (token: string, workspaceId: string) => {
    const stream = clients.workspaces.watchWorkspace({ workspaceId }, bearer(token));
    const seen: { error?: ServiceError; hasHealth: boolean } = { hasHealth: false };
    stream.on(
      "data",
      ({ change }: WatchWorkspaceResponse) => (seen.hasHealth ||= change?.$case === "health"),
    );
    stream.on("error", (error: ServiceError) => (seen.error = error));
    return Object.assign(seen, { stream });
  };
  const open = Array.from({ length: 100 }, () => watch(ANN, inside.id));
  await until("all watches have the health", () => open.every(({ hasHealth }) => hasHealth));
  const late = watch(ANN, inside.id);
  const { code, details } = await until("the further watch is rejected", () => late.error);
  expect(code).toBe(status.RESOURCE_EXHAUSTED);
  expect(details).toContain("the token ann already has 100 watches");
  const neighbours = [watch(TOKENS.operator, inside.id), watch(TOKENS.operator, outside.id)];
  await until("the other token can watch", () => neighbours.every(({ hasHealth }) => hasHealth));
  open.pop()?.stream.cancel();
  await until("there is room", async () => {
    const again = watch(ANN, inside.id);
    open.push(again);
    return until("the watch is answered", () => again.hasHealth || again.error !== undefined).then(
      () => again.hasHealth,
    );
  });
  for (const { stream } of [...open, ...neighbours]) stream.cancel();
});

test("a token's calls for lists are rejected while 16 MB of its lists are unread; other tokens can still list", async () => {
  const { workspaces } = clients;
  const page = ListWorkspacesRequest.create({ pageSize: 1_000 });
  const request = ListWorkspacesRequest.encode(page).finish();
  const { session, heads } = callWithoutReading(
    ANN,
    "chatbridge.v1.WorkspaceService/ListWorkspaces",
    request,
    {
      count: 5,
    },
  );
  const refusals = rejected(await heads());
  expect(refusals).toHaveLength(2);
  expect(refusals[0]?.["grpc-status"]).toBe(String(status.RESOURCE_EXHAUSTED));
  expect(decodeURI(String(refusals[0]?.["grpc-message"]))).toContain(
    "the token ann already has 16 MB of calls",
  );
  await expect(call(workspaces, workspaces.listWorkspaces, page, ANN)).rejects.toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
  });
  const listed = await call(workspaces, workspaces.listWorkspaces, page);
  expect(listed.workspaces.length).toBeGreaterThan(0);
  session.destroy();
  await until("there is room", () =>
    call(workspaces, workspaces.listWorkspaces, page, ANN).then(
      () => true,
      () => false,
    ),
  );
});

test("a token's publish calls are rejected while 16 MB of its calls are in progress; other games can still publish", async () => {
  const { games } = clients;
  const event = (length: number) => OutboundEvent.fromPartial(textEvent(inside.id, "x".repeat(length)));
  const large = PublishEventsRequest.encode({ events: [event(7 * MB)] }).finish();
  const { session, heads } = callWithoutReading(TRIVIA, "chatbridge.v1.GameService/PublishEvents", large, {
    count: 3,
  });
  const refusals = rejected(await heads());
  expect(refusals.map((head) => head["grpc-status"])).toEqual([String(status.UNAVAILABLE)]);
  expect(decodeURI(String(refusals[0]?.["grpc-message"]))).toContain(
    "the token trivia already has 16 MB of calls",
  );
  const events = [event(3 * MB)];
  await expect(call(games, games.publishEvents, { events }, TRIVIA)).rejects.toMatchObject({
    code: status.UNAVAILABLE,
  });
  const { results } = await call(games, games.publishEvents, { events: [event(5)] });
  expect(results).toMatchObject([{ outcome: { $case: "published" } }]);
  session.destroy();
  await until("there is room", () =>
    call(games, games.publishEvents, { events }, TRIVIA).then(
      () => true,
      () => false,
    ),
  );
});

test("calls of a token that is limited to workspaces are rejected while 1,024 of its calls wait to start; other games can still publish", async () => {
  const { games } = clients;
  const event = OutboundEvent.fromPartial(textEvent(inside.id, "x"));
  const request = PublishEventsRequest.encode({ events: [event] }).finish();
  const path = "chatbridge.v1.GameService/PublishEvents";
  const { session, heads } = callWithoutReading(TRIVIA, path, request, { count: 1_500 });
  const refusals = await until("a call is rejected", async () => {
    const found = rejected(await heads(1));
    return found.length > 0 && found;
  });
  expect(new Set(refusals.map((head) => head["grpc-status"]))).toEqual(new Set([String(status.UNAVAILABLE)]));
  expect(decodeURI(String(refusals[0]?.["grpc-message"]))).toContain(
    "the token trivia already has 1024 calls that wait to start",
  );
  const { results } = await call(games, games.publishEvents, { events: [event] });
  expect(results).toMatchObject([{ outcome: { $case: "published" } }]);
  session.destroy();
  await until("there is room", () =>
    call(games, games.publishEvents, { events: [event] }, TRIVIA).then(
      () => true,
      () => false,
    ),
  );
});

// time: ordering
test.each([
  // The burst is 200 events, so the last call waits until the pace has allowed 500 further events.
  ["500 events", { calls: 8, events: 100, bytes: 1, leastMs: 900 }],
  // A call counts as 293 events, so the last call waits until the pace has allowed 386 further events.
  ["4 MB of events", { calls: 3, events: 40, bytes: 60_000, leastMs: 700 }],
])(
  "calls of a token that is limited to workspaces are delayed above %s per second; other games can still publish",
  async (_what, { calls, events: count, bytes, leastMs }) => {
    const { games } = clients;
    const event = OutboundEvent.fromPartial(textEvent(inside.id, "x".repeat(bytes)));
    const events = Array.from({ length: count }, () => event);
    const fromMs = performance.now();
    const limited = Promise.all(
      Array.from({ length: calls }, () => call(games, games.publishEvents, { events }, TRIVIA)),
    );
    const { results } = await call(games, games.publishEvents, { events });
    expect(results.map(({ outcome }) => outcome?.$case)).toEqual(events.map(() => "published"));
    expect((await limited).flatMap((each) => each.results)).toHaveLength(calls * count);
    expect(performance.now() - fromMs).toBeGreaterThan(leastMs);
  },
);

// time: ordering
test("calls of an operator's token that is limited to workspaces are delayed above 500 per second; other tokens are still served", async () => {
  const { workspaces } = clients;
  const show = (token: string) =>
    call(workspaces, workspaces.getWorkspace, { workspaceId: inside.id }, token);
  const fromMs = performance.now();
  const limited = Promise.all(
    Array.from({ length: 30 }, async () => {
      for (let i = 0; i < 10; i++) await show(ANN);
    }),
  );
  await expect(show(TOKENS.operator)).resolves.toMatchObject({ workspace: { id: inside.id } });
  await limited;
  // The burst is 50 calls, so the last of 300 calls waits until the pace has allowed 250 further calls.
  expect(performance.now() - fromMs).toBeGreaterThan(400);
});

test("a token's incomplete requests are rejected above 32 MB; other games can still publish", async () => {
  const { games } = clients;
  const { session, heads } = callWithoutReading(
    TRIVIA,
    "chatbridge.v1.GameService/PublishEvents",
    Buffer.alloc(7 * MB),
    {
      count: 6,
      isComplete: false,
    },
  );
  const refusals = rejected(await heads(2));
  expect(refusals.map((head) => head["grpc-status"])).toEqual(Array(2).fill(String(status.UNAVAILABLE)));
  expect(decodeURI(String(refusals[0]?.["grpc-message"]))).toContain(
    "the token trivia already has 32 MB of incomplete requests",
  );
  const events = [OutboundEvent.fromPartial(textEvent(inside.id, "x"))];
  const { results } = await call(games, games.publishEvents, { events });
  expect(results).toMatchObject([{ outcome: { $case: "published" } }]);
  session.destroy();
  await until("there is room", () =>
    call(
      games,
      games.publishEvents,
      { events: [OutboundEvent.fromPartial(textEvent(inside.id, "x".repeat(MB)))] },
      TRIVIA,
    ).then(
      () => true,
      () => false,
    ),
  );
});

test.each([
  ["to WorkspaceService", "chatbridge.v1.WorkspaceService/ListWorkspaces", 128],
  ["for a probe, which needs no token,", "grpc.health.v1.Health/Check", 16],
])(
  "a request %s is rejected when it grows too large, even if it never becomes complete",
  async (_what, path, mostKb) => {
    const request = Buffer.alloc((mostKb + 1) * 1024);
    const { heads, session } = callWithoutReading(ANN, path, request, { count: 1, isComplete: false });
    const [head] = rejected(await heads(1));
    expect(head?.["grpc-status"]).toBe(String(status.INVALID_ARGUMENT));
    expect(decodeURI(String(head?.["grpc-message"]))).toBe(`the request has more than ${mostKb} KB`);
    session.destroy();
  },
);

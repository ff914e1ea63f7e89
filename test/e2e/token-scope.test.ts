import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { status, type Client, type ServiceError, type StatusObject } from "@grpc/grpc-js";
import type { DescMessage } from "@bufbuild/protobuf";
import { PROTOS } from "../../core/rpc/wire-fault";
import { PublishEventsRequest, PublishRefusal } from "../../proto/gen/chatbridge/v1/game";
import {
  CreateWorkspaceRequest,
  ListWorkspacesRequest,
  WorkspaceServiceService,
} from "../../proto/gen/chatbridge/v1/workspace";
import { bearer } from "../../runtime/core-channel";
import { startConsumer, type Consumer } from "../harness/consumer";
import { call, connectToCore, type CoreClients } from "../harness/core-clients";
import { typeIn, waitingFor } from "../harness/followers";
import { outputOf } from "../harness/output";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import { textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { openTestStore, type TestStore } from "../harness/store";
import { HANG_MS, until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const { NOT_FOUND, OK, PERMISSION_DENIED } = status;
const ANN = "token-of-ann-for-tests";
const TRIVIA = "token-of-trivia-for-tests";
const CHESS = "token-of-chess-for-tests";

const service = sharedService();
let core: TestProcess;
let clients: CoreClients;
let store: TestStore;
let inside: TestWorkspace;
let outside: TestWorkspace;
/** A workspace in the scope of `ann`. A test changes this workspace. */
let changed: TestWorkspace;
const consumers: Consumer[] = [];

beforeAll(async () => {
  const make = () => service.workspaces.make();
  [inside, outside, changed] = await Promise.all([make(), make(), make()]);
  const all = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
  const limited = [
    `operator:ann@${inside.id}+${changed.id}=${ANN}`,
    `game:trivia@${inside.id}+${randomUUID()}=${TRIVIA}`,
    `game:chess@${outside.id}=${CHESS}`,
  ];
  core = await startCore(service.redis.url, { CORE_TOKENS: [...all, ...limited].join() });
  clients = connectToCore(core.port);
  store = await openTestStore(service.redis.url);
});
afterEach(() => {
  for (const consumer of consumers.splice(0)) consumer.cancel();
});
afterAll(async () => {
  clients.close();
  await core.stop();
  await store.close();
});

type Method = keyof typeof WorkspaceServiceService;
const METHODS = Object.keys(WorkspaceServiceService) as Method[];
const hasWorkspaceId = (method: Method): boolean =>
  "workspaceId" in WorkspaceServiceService[method].requestDeserialize(Buffer.alloc(0));
const FOR_ONE_WORKSPACE = METHODS.filter(hasWorkspaceId);

/** Calls any method of WorkspaceService for a workspace. Resolves with the status of the call or the stream. */
function tryMethod(
  method: Method,
  workspaceId: string,
  token = ANN,
): Promise<Pick<StatusObject, "code" | "details">> {
  const {
    path,
    requestSerialize,
    responseDeserialize: deserialize,
    responseStream,
  } = WorkspaceServiceService[method];
  const serialize = requestSerialize as (request: object) => Buffer;
  const request = { ...WorkspaceServiceService[method].requestDeserialize(Buffer.alloc(0)), workspaceId };
  const client = clients.workspaces as Client;
  const options = { deadline: Date.now() + HANG_MS };
  return new Promise((resolve) => {
    if (responseStream) {
      const stream = client.makeServerStreamRequest(
        path,
        serialize,
        deserialize,
        request,
        bearer(token),
        options,
      );
      stream.on("data", () => (stream.cancel(), resolve({ code: OK, details: "" })));
      stream.on("error", ({ code, details }: ServiceError) => resolve({ code, details }));
    } else {
      client.makeUnaryRequest(path, serialize, deserialize, request, bearer(token), options, (error) =>
        resolve({ code: error?.code ?? OK, details: error?.details ?? "" }),
      );
    }
  });
}

describe("limited tokens of operators", () => {
  test.each(FOR_ONE_WORKSPACE)(
    "%s gives a limited token the same answer for another workspace as for a missing workspace",
    async (method) => {
      const before = await service.workspaces.get(outside.id);
      const missing = await tryMethod(method, randomUUID());
      const details = "there is no such workspace, or the token ann may not see it";
      expect(missing).toEqual({ code: NOT_FOUND, details });
      for (const id of [outside.id, outside.id.toUpperCase(), "no id"]) {
        expect(await tryMethod(method, id)).toEqual(missing);
      }
      expect((await service.workspaces.get(outside.id)).workspace).toEqual(before.workspace);
    },
  );

  test("a limited token can call every method for its own workspace", async () => {
    for (const method of FOR_ONE_WORKSPACE.filter((each) => each !== "deleteWorkspace")) {
      const { code } = await tryMethod(method, changed.id.toUpperCase());
      expect([method, [NOT_FOUND, PERMISSION_DENIED].includes(code)]).toEqual([method, false]);
    }
  });

  test("a limited token cannot create workspaces, and sees only its own workspaces", async () => {
    const { workspaces } = clients;
    const without = METHODS.filter((method) => !hasWorkspaceId(method));
    expect(without.toSorted()).toEqual([
      "countWorkspaces",
      "createWorkspace",
      "deleteGroup",
      "getCaller",
      "getInstallation",
      "getProbedAddress",
      "listGroups",
      "listSecretKeys",
      "listWorkspaces",
      "reEncryptSecrets",
      "summarizeWorkspaces",
    ]);
    for (const method of [workspaces.listSecretKeys, workspaces.reEncryptSecrets] as const) {
      const calling = call<{ pageToken: string }, unknown>(workspaces, method, { pageToken: "" }, ANN);
      await expectRejected(calling, PERMISSION_DENIED, "the token ann is limited to some workspaces");
    }
    const probing = call(workspaces, workspaces.getProbedAddress, { probeId: randomUUID() }, ANN);
    await expectRejected(probing, PERMISSION_DENIED, "the token ann is limited to some workspaces");
    const describing = call(workspaces, workspaces.getInstallation, {}, ANN);
    await expectRejected(describing, PERMISSION_DENIED, "the token ann is limited to some workspaces");
    const request = CreateWorkspaceRequest.create({ name: "new" });
    const creating = call(workspaces, workspaces.createWorkspace, request, ANN);
    await expectRejected(creating, PERMISSION_DENIED, "the token ann is limited to some workspaces");
    const first = await call(
      workspaces,
      workspaces.listWorkspaces,
      ListWorkspacesRequest.create({ pageSize: 1 }),
      ANN,
    );
    const next = ListWorkspacesRequest.create({ pageSize: 1, pageToken: first.nextPageToken });
    const second = await call(workspaces, workspaces.listWorkspaces, next, ANN);
    const listed = [...first.workspaces, ...second.workspaces].map(({ id }) => id);
    expect(listed.toSorted()).toEqual([inside.id, changed.id].toSorted());
    expect(second.nextPageToken).toBe("");
  });

  test("GetCaller returns a token's name and the workspaces to which it is limited; an unnamed token has the name of its role", async () => {
    const { workspaces } = clients;
    const caller = (token: string) => call(workspaces, workspaces.getCaller, {}, token);
    expect(await caller(ANN)).toEqual({ tokenName: "ann", workspaceIds: [inside.id, changed.id] });
    expect(await caller(TOKENS.operator)).toEqual({ tokenName: "operator", workspaceIds: [] });
  });
});

test("every request with a workspace id contains the id in a field for which core checks the token's scope", () => {
  const hasId = (message: DescMessage, visited = new Set<DescMessage>()): boolean => {
    if (visited.has(message)) return false;
    visited.add(message);
    return message.fields.some(
      (field) =>
        field.name === "workspace_id" || (field.message !== undefined && hasId(field.message, visited)),
    );
  };
  const services = [...PROTOS].filter((each) => each.kind === "service");
  const methods = services.flatMap((each) => each.methods);
  const found = methods
    .filter(({ input }) => hasId(input))
    .map(({ parent, name }) => `${parent.name}/${name}`);
  expect(found.filter((name) => !name.startsWith("WorkspaceService/"))).toEqual([
    "BridgeService/Receive",
    "BridgeService/Poll",
    "BridgeService/Lane",
    "BridgeService/ReportRefusals",
    "GameService/PublishEvents",
  ]);
  // `withinScope` checks the field `workspace_id` of each request.
  const inFields = found.filter((name) => name.startsWith("WorkspaceService/"));
  expect(inFields).toHaveLength(FOR_ONE_WORKSPACE.length);
});

describe("limited tokens of games", () => {
  const follow = (open: Parameters<typeof startConsumer>[1], token?: string): Consumer => {
    const consumer = startConsumer(clients.games, open, token);
    consumers.push(consumer);
    return consumer;
  };

  test("a limited token publishes to its own workspaces; core answers that all other workspaces are unknown", async () => {
    const events = [inside.id, outside.id, randomUUID()].map((id) => textEvent(id, "hello"));
    const request = PublishEventsRequest.create({ events });
    const { results } = await call(clients.games, clients.games.publishEvents, request, TRIVIA);
    const [published, other, missing] = results.map(({ outcome }) => outcome);
    expect(published?.$case).toBe("published");
    const message = expect.stringContaining("or the token trivia may not use it") as string;
    expect(other).toMatchObject({ value: { reason: PublishRefusal.UNKNOWN_WORKSPACE, message } });
    expect(isDeepStrictEqual(other, missing)).toBe(true);
  });

  // time: ordering
  test("a limited token gets only the events of its workspaces, and its group does not fall behind; other groups get all events", async () => {
    const everything = await follow({ group: `all-${randomUUID()}` }).opened();
    const [trivia, chess] = await Promise.all([
      follow({ group: "trivia" }, TRIVIA).opened(),
      follow({ group: "chess.main" }, CHESS).opened(),
    ]);
    for (const consumer of [everything, trivia, chess]) consumer.ackAll();
    for (let i = 0; i < 5; i++) {
      await typeIn(service.url, outside, `outside ${i}`);
      await typeIn(service.url, inside, `inside ${i}`);
    }
    await everything.sees(10);
    await Promise.all([trivia.sees(5), chess.sees(5)]);
    for (const group of ["trivia", "chess.main"]) {
      await until(
        `no event waits for the group ${group}`,
        async () => (await waitingFor(store, group)) === 0,
      );
    }
    expect(trivia.seen.map(({ text }) => text)).toEqual([0, 1, 2, 3, 4].map((i) => `inside ${i}`));
    expect(chess.seen.map(({ text }) => text)).toEqual([0, 1, 2, 3, 4].map((i) => `outside ${i}`));
  });

  test.each([
    ["a group with another name", "quiz", TRIVIA, /only the groups "trivia" and "trivia\.<anything>"/],
    ["a group whose name only begins like its own", "trivia2", TRIVIA, /only the groups "trivia"/],
    ["the group of another limited token", "chess", TRIVIA, /only the groups "trivia"/],
  ])("a limited token cannot follow %s", async (_what, group, token, words) => {
    const end = await follow({ group }, token).ended();
    expect(end).toEqual({ code: PERMISSION_DENIED, details: expect.stringMatching(words) as string });
  });

  test.each(["trivia", "trivia.eu"])(
    "a limited token reserves the group %s, so no other token can follow the group",
    async (group) => {
      const end = await follow({ group }).ended();
      const words = /reserved for the token trivia/;
      expect(end).toEqual({ code: PERMISSION_DENIED, details: expect.stringMatching(words) as string });
    },
  );
});

test("core logs a deletion with the name of the token, but never logs the token itself", async () => {
  const { workspaces } = clients;
  await call(workspaces, workspaces.deleteWorkspace, { workspaceId: changed.id }, ANN);
  const line = await until("the log line", () =>
    core.log.find(({ msg }) => msg === "a workspace was deleted"),
  );
  expect(line).toMatchObject({ workspaceId: changed.id, by: "ann" });
  for (const token of [ANN, TRIVIA, CHESS, ...Object.values(TOKENS)])
    expect(outputOf(core)).not.toContain(token);
});

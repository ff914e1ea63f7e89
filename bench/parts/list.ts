import {
  credentials,
  type CallOptions,
  type ClientUnaryCall,
  type Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import {
  ListWorkspacesRequest,
  WorkspaceOrder,
  WorkspaceState,
  WorkspaceServiceClient,
} from "../../proto/gen/chatbridge/v1/workspace";
import { bearer, createWorkspaces, type Workspace } from "../core-clients";
import { check, CheckFault, type Part } from "../part";
import { startPushService } from "../service";
import { createTable } from "../table";

/** Numbers of workspaces, in ascending order. */
const SIZES = [10_000, 100_000];
/** Nothing listens at this address, so pushes to it fail. */
const DEAD_URL = "https://127.0.0.1:9/events";
const FAILING = 3;
const LISTS = 40;
const PAGE = 25;
const WITHIN_MS = 30_000;

/**
 * Measures the processor time of Redis for a list of workspaces: the page, its summaries and the counts, as the
 * dashboard reads them.
 */
export const list: Part = {
  name: "list",
  what: `processor time of Redis for a list of workspaces, with ${FAILING} failing ones; figures only`,
  async run(context) {
    const { options, say, scope } = context;
    const { service } = await startPushService(context);
    const { clients, store, coreAddress } = service;
    const operator = await scope.own(
      Promise.resolve(new WorkspaceServiceClient(coreAddress, credentials.createInsecure())),
      (client) => client.close(),
    );
    const failing = await createWorkspaces(clients, FAILING, DEAD_URL);
    for (const { id } of failing) await ask(operator, operator.sendTestEvent, { workspaceId: id });
    const row = createTable(say, ["workspaces", "ms", "min", "max"]);
    const figures: { readonly size: number; readonly ms: number }[] = [];
    let made = FAILING;
    for (const size of SIZES.map((each) => Math.max(PAGE, Math.round(each * options.scale)))) {
      await createWorkspaces(clients, size - made);
      made = size;
      await listOnce(operator, failing);
      const costs: number[] = [];
      for (let lists = 0; lists < LISTS; lists++) {
        const before = await store.functionMs();
        await listOnce(operator, failing);
        costs.push((await store.functionMs()) - before);
      }
      costs.sort((a, b) => a - b);
      const ms = costs[Math.floor(LISTS / 2)] ?? NaN;
      figures.push({ size, ms });
      row([size, ms.toFixed(2), (costs[0] ?? NaN).toFixed(2), (costs.at(-1) ?? NaN).toFixed(2)]);
    }
    const lastLine = figures.map(({ ms }, i) => `${i === 0 ? "few" : "many"}_ms=${ms.toFixed(2)}`).join(" ");
    return { lastLine, raw: { figures } };
  },
};

/** Calls core with the operator's token. */
function ask<Request, Answer>(
  client: WorkspaceServiceClient,
  method: UnaryMethod<Request, Answer>,
  request: Request,
): Promise<Answer> {
  const options = { deadline: Date.now() + WITHIN_MS };
  return new Promise((resolve, reject) => {
    method.call(client, request, bearer("operator"), options, (error, answer) =>
      error === null ? resolve(answer) : reject(new CheckFault(error.details)),
    );
  });
}

type UnaryMethod<Request, Answer> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, answer: Answer) => void,
) => ClientUnaryCall;

/**
 * Reads the first page and the counts, as the dashboard does. Throws CheckFault unless the failing workspaces come
 * first.
 */
async function listOnce(client: WorkspaceServiceClient, failing: readonly Workspace[]): Promise<void> {
  const order = WorkspaceOrder.URGENCY;
  const request = ListWorkspacesRequest.create({ pageSize: PAGE, order, summaries: true });
  const [page, counted] = await Promise.all([
    ask(client, client.listWorkspaces, request),
    ask(client, client.countWorkspaces, {}),
  ]);
  const first = new Set(page.workspaces.slice(0, failing.length).map(({ id }) => id));
  check(
    failing.every(({ id }) => first.has(id)),
    "the failing workspaces are not the first rows",
  );
  const count = counted.counts.find(({ state }) => state === WorkspaceState.FAILING)?.count;
  check(count === failing.length, `${count} workspaces are counted as failing`);
}

import { InvalidArgumentError } from "commander";
import { stateLabel, WORKSPACE_STATES, type WorkspaceState } from "../contract/workspace-states";
import { WORKSPACE_STATE_CODES } from "../proto/codes";
import {
  ListWorkspacesRequest,
  WorkspaceOrder,
  type WorkspaceServiceClient,
} from "../proto/gen/chatbridge/v1/workspace";
import { matchesWords } from "../proto/json/match-workspace";
import type { StateCounts, SummaryShape, WorkspaceShape } from "../proto/json/shapes";
import {
  toStateCounts,
  toSummaryShape,
  toSummaryShapes,
  toWorkspaceShape,
} from "../proto/json/workspace-json";
import { answer, type Cli, type CliCommand } from "./cli";
import { asOperator, type Core } from "./core";
import { PAGE_MAX } from "./workspace-names";
import { workspaceRows, type ListedWorkspace } from "./workspace-text";

type Operator = Core<WorkspaceServiceClient>;

/** Maximum number of ids in one call of SummarizeWorkspaces. */
const SUMMARIZED_MAX = 100;

interface ListOptions {
  readonly limit: number;
  readonly state?: WorkspaceState;
  readonly search?: string;
}

/** `chat-bridge workspace list` prints workspaces with their health. */
export function addList(workspace: CliCommand, cli: Cli): void {
  workspace
    .command("list")
    .description("list workspaces with their health, failing ones first")
    .option("--state <state>", `only workspaces with this state: ${WORKSPACE_STATES.join(", ")}`, parseState)
    .option("--search <words>", "only workspaces whose name, id, owner or target URL contains the words")
    .option("--limit <n>", "maximum number of workspaces, or all", parseLimit, 100)
    .moreHelp(`
Examples:
  $ chat-bridge workspace list --state failing
  $ chat-bridge workspace list --search "ann's team"
  $ chat-bridge workspace list --limit all --json | jq length`)
    .action((options: ListOptions) => asOperator(cli, (operator) => listWorkspaces(cli, operator, options)));
}

/** Prints at most `limit` workspaces and the totals. If there are more workspaces, prints a note on stderr. */
async function listWorkspaces(cli: Cli, operator: Operator, options: ListOptions): Promise<void> {
  const { limit, state } = options;
  // A core of an older release does not know states, so it must not be asked to list by state.
  const before = state === undefined ? undefined : await readCounts(operator);
  const { found, hasMore, notice } = await find(operator, options);
  const isKnown = found.length === 0 || found.some(({ summary }) => summary !== null);
  const counts = before ?? (isKnown ? await readCounts(operator) : undefined);
  const rows = found.length === 0 ? [noneWords(options)] : workspaceRows(found);
  answer(cli, found, [...rows, ...(counts === undefined ? [] : ["", totals(counts)])]);
  if (notice !== "") cli.terminal.tell(notice);
  if (hasMore && found.length >= limit) {
    cli.terminal.tell("There are more workspaces: use --limit <n> or --limit all.");
  }
}

async function find({ call, methods }: Operator, { limit, state, search }: ListOptions) {
  const found: ListedWorkspace[] = [];
  let pageToken = "";
  let notice = "";
  do {
    const pageSize = search === undefined ? Math.min(PAGE_MAX, limit - found.length) : PAGE_MAX;
    const page = await call(
      methods.listWorkspaces,
      ListWorkspacesRequest.create({
        pageSize,
        pageToken,
        order: WorkspaceOrder.URGENCY,
        states: state === undefined ? [] : [WORKSPACE_STATE_CODES[state]],
        summaries: search === undefined,
      }),
    );
    const shapes = page.workspaces.map(toWorkspaceShape);
    if (search === undefined) {
      const summaries = toSummaryShapes(page.summaries);
      found.push(...shapes.map((shape) => ({ ...shape, summary: summaries[shape.id] ?? null })));
    } else {
      const matching = shapes.filter((shape) => matchesWords(shape, search));
      found.push(...(await summarized({ call, methods }, matching.slice(0, limit - found.length))));
    }
    ({ nextPageToken: pageToken, notice } = page);
  } while (pageToken !== "" && found.length < limit);
  return { found, hasMore: pageToken !== "", notice };
}

async function summarized(
  { call, methods }: Pick<Operator, "call" | "methods">,
  shapes: readonly WorkspaceShape[],
): Promise<readonly ListedWorkspace[]> {
  const known = new Map<string, SummaryShape>();
  for (let i = 0; i < shapes.length; i += SUMMARIZED_MAX) {
    const workspaceIds = shapes.slice(i, i + SUMMARIZED_MAX).map(({ id }) => id);
    const { summaries } = await call(methods.summarizeWorkspaces, { workspaceIds });
    for (const each of summaries) known.set(each.workspaceId, toSummaryShape(each));
  }
  return shapes.map((shape) => ({ ...shape, summary: known.get(shape.id) ?? null }));
}

async function readCounts({ call, methods }: Operator): Promise<StateCounts> {
  return toStateCounts(await call(methods.countWorkspaces, {}));
}

/** Says that the list is empty, e.g. "No workspace has the state Failing.". */
function noneWords({ state, search }: ListOptions): string {
  if (search !== undefined) return "No workspace fits the search.";
  return state === undefined ? "No workspaces." : `No workspace has the state ${stateLabel(state)}.`;
}

/** Returns e.g. "300 workspaces: 1 failing, 299 healthy". */
function totals(counts: StateCounts): string {
  const total = WORKSPACE_STATES.reduce((sum, state) => sum + counts[state], 0);
  const parts = WORKSPACE_STATES.filter((state) => counts[state] > 0);
  const words = parts.map((state) => `${counts[state]} ${stateLabel(state).toLowerCase()}`);
  return `${total} ${total === 1 ? "workspace" : "workspaces"}${words.length > 0 ? `: ${words.join(", ")}` : ""}`;
}

function parseState(text: string): WorkspaceState {
  const state = WORKSPACE_STATES.find((each) => each === text);
  if (state === undefined)
    throw new InvalidArgumentError(`It must be one of ${WORKSPACE_STATES.join(", ")}.`);
  return state;
}

function parseLimit(text: string): number {
  if (text === "all") return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError("It must be a number of at least 1, or all.");
  return Number(text);
}

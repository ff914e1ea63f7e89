import { status } from "@grpc/grpc-js";
import { WORKSPACE_STATES, type WorkspaceState } from "../../contract/workspace-states";
import { isRefusal, REQUEST_KINDS } from "../../contract/requests";
import { RESULT_CODES, WORKSPACE_STATE_CODES, WORKSPACE_STATE_WORDS } from "../../proto/codes";
import {
  DeliveryResult,
  WorkspaceOrder,
  type ListWorkspacesRequest,
  type SummaryPeriod,
  type WorkspaceServiceServer,
  type WorkspaceSummary as SummaryMessage,
} from "../../proto/gen/chatbridge/v1/workspace";
import {
  countWorkspaces,
  listWorkspaces,
  readVisible,
  summarize,
  type ListContext,
  type WantedPage,
  type WorkspaceSummary,
} from "../operations/list-workspaces";
import type { HourBucket } from "../ports/hour-counts";
import type { Clock } from "../ports/outside";
import { parseWorkspaceId } from "../domain/workspace";
import { callerOf } from "./call-caller";
import { readPageSize } from "./page-size";
import { existingPage, StatusError, unary, type ReportFault } from "./status";
import { toDate, toWorkspaceMessage } from "./workspace-messages";

/** Maximum number of workspaces in one call of SummarizeWorkspaces. */
const SUMMARIZED_MAX = 100;

export interface ListMethodsContext extends ListContext {
  readonly now: Clock;
  /** Returns a warning for operators about the whole installation; undefined when there is none. */
  notice(): string | undefined;
}

/** The methods that list workspaces. These methods check the caller's scope themselves. */
export function listMethods(context: ListMethodsContext, report: ReportFault) {
  const { now } = context;
  return {
    listWorkspaces: unary("ListWorkspaces", report, async (request, call) => {
      const scope = callerOf(call).workspaces;
      const page = existingPage(await listWorkspaces(context, readWanted(request), scope));
      // A limited token is for the owner of some workspaces, who cannot give the installation more memory.
      const notice = (scope === undefined && context.notice()) || "";
      const summaries = request.summaries ? await summarize(context, page.workspaces) : [];
      return {
        workspaces: page.workspaces.map((each) => toWorkspaceMessage(each, now())),
        nextPageToken: page.next ?? "",
        notice,
        summaries: summaries.map(toSummaryMessage),
      };
    }),
    countWorkspaces: unary("CountWorkspaces", report, async (_request, call) => {
      const counts = await countWorkspaces(context, callerOf(call).workspaces);
      return {
        counts: WORKSPACE_STATES.map((state) => ({
          state: WORKSPACE_STATE_CODES[state],
          count: counts[state],
        })),
      };
    }),
    summarizeWorkspaces: unary("SummarizeWorkspaces", report, async ({ workspaceIds }, call) => {
      if (workspaceIds.length > SUMMARIZED_MAX) {
        throw new StatusError(
          status.INVALID_ARGUMENT,
          `workspace_ids must have at most ${SUMMARIZED_MAX} ids`,
        );
      }
      const ids = workspaceIds.flatMap((text) => parseWorkspaceId(text) ?? []);
      const found = await readVisible(context, ids, callerOf(call).workspaces);
      return {
        workspaces: found.map((each) => toWorkspaceMessage(each, now())),
        summaries: (await summarize(context, found)).map(toSummaryMessage),
      };
    }),
  } satisfies Partial<WorkspaceServiceServer>;
}

function readWanted({ pageSize, pageToken, order, states }: ListWorkspacesRequest): WantedPage {
  const size = readPageSize(pageSize);
  const after = pageToken || undefined;
  switch (order) {
    case WorkspaceOrder.UNSPECIFIED:
      if (states.length > 0) {
        throw new StatusError(
          status.INVALID_ARGUMENT,
          "states needs the order WORKSPACE_ORDER_URGENCY: set order, or remove states",
        );
      }
      return { size, after, states: undefined };
    case WorkspaceOrder.URGENCY:
      return { size, after, states: new Set(states.length > 0 ? states.map(readState) : WORKSPACE_STATES) };
    default:
      throw new StatusError(status.INVALID_ARGUMENT, "order is not a value of WorkspaceOrder");
  }
}

function readState(code: ListWorkspacesRequest["states"][number]): WorkspaceState {
  const state = WORKSPACE_STATE_WORDS.get(code);
  if (state === undefined) {
    throw new StatusError(status.INVALID_ARGUMENT, "states contains a value that is not a state");
  }
  return state;
}

function toSummaryMessage({ standing, lastHour }: WorkspaceSummary): SummaryMessage {
  const { id, state, sinceMs, recoveredAtMs, lastPollAtMs, lastAttempt } = standing;
  return {
    workspaceId: id,
    state: WORKSPACE_STATE_CODES[state],
    failingSince: state === "failing" ? new Date(sinceMs) : undefined,
    recoveredAt: toDate(recoveredAtMs),
    lastPollAt: toDate(lastPollAtMs),
    lastAttemptAt: toDate(lastAttempt?.atMs),
    lastAttemptResult:
      lastAttempt === undefined ? DeliveryResult.UNSPECIFIED : RESULT_CODES[lastAttempt.result],
    lastAttemptStatus: lastAttempt?.status ?? 0,
    lastHour: lastHour.map(toPeriod),
  };
}

function toPeriod({ startsAtMs, counts }: HourBucket): SummaryPeriod {
  const refused = REQUEST_KINDS.filter(isRefusal).reduce((sum, kind) => sum + (counts[kind] ?? 0), 0);
  return {
    startsAt: new Date(startsAtMs),
    posts: counts.post ?? 0,
    polls: counts.poll ?? 0,
    refused,
    pushes: counts.push ?? 0,
    failedPushes: counts["push-failed"] ?? 0,
  };
}

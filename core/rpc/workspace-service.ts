import { status } from "@grpc/grpc-js";
import type { WorkspaceServiceServer } from "../../proto/gen/chatbridge/v1/workspace";
import { EVENT_ID_FORM } from "../../contract/forms";
import { OUTSIDE_CALLS_MAX } from "../domain/bounds";
import type { Workspace } from "../domain/workspace";
import {
  connectWorkspace,
  createWorkspace,
  deleteWorkspace,
  disconnectWorkspace,
  rotateSigningSecret,
  setTargetUrl,
  updateWorkspace,
  NOT_FOUND,
  type WorkspaceContext,
} from "../operations/workspaces";
import { checkSignature } from "../operations/check-signature";
import { createCallsInProgress, type CallsInProgress } from "../operations/calls-in-progress";
import { listFailedEvents, sendAgain, type FailedEventsContext } from "../operations/failed-events";
import {
  sendOperatorTest,
  setOperatorEventsAddress,
  type OperatorTestContext,
} from "../operations/operator-events";
import { deleteGroup, listGroups, type GroupsContext } from "../operations/groups";
import { readDelivery } from "../operations/read-delivery";
import { readEvent, type ReadEventContext } from "../operations/read-event";
import { readHealth } from "../operations/read-health";
import type { RefusedRequests } from "../ports/hour-counts";
import type { SecretKeys } from "../ports/secret-keys";
import { sendTestEvent, type TestEventContext } from "../operations/send-test-event";
import { callerOf, cancelledSignal, type ServedCall } from "./call-caller";
import { installationMethods, type InstallationContext } from "./installation-message";
import { readPageSize } from "./page-size";
import { listMethods, type ListMethodsContext } from "./list-methods";
import {
  accepted,
  badPageToken,
  existingPage,
  readWorkspaceId,
  StatusError,
  unary,
  type ReportFault,
} from "./status";
import { readSignedPart, toCheckMessage, toRequestsMessage } from "./request-messages";
import { createWatchHandler, type WatchContext } from "./watch-stream";
import {
  readPlatform,
  toChangeMessage,
  toDeliveryMessage,
  toDetailMessage,
  toEventMessage,
  toFailedMessage,
  toGroupMessage,
  toHealthMessage,
  toSentMessage,
  toTestMessage,
  toWorkspaceMessage,
} from "./workspace-messages";

/** `by` differs from call to call, so it is not part of the service's context. The service creates `urlChecks`. */
export type WorkspaceServiceContext = Omit<
  WorkspaceContext & TestEventContext & FailedEventsContext & OperatorTestContext & ReadEventContext,
  "by" | "urlChecks"
> &
  WatchContext &
  ListMethodsContext &
  GroupsContext &
  InstallationContext & {
    readonly secretKeys: SecretKeys;
    readonly refusedRequests: RefusedRequests;
    /** Called when an operator has deleted a group of followers. */
    onGroupDeleted(group: string, by: string): void;
  };

interface Shared extends WorkspaceServiceContext {
  readonly urlChecks: CallsInProgress;
  readonly tests: CallsInProgress;
}

export function createWorkspaceService(
  context: WorkspaceServiceContext,
  report: ReportFault,
): WorkspaceServiceServer {
  const urlChecks = createCallsInProgress("checks of URLs", OUTSIDE_CALLS_MAX);
  const tests = createCallsInProgress("test events", OUTSIDE_CALLS_MAX);
  const shared: Shared = { ...context, urlChecks, tests };
  return {
    ...workspaceMethods(shared, report),
    ...listMethods(shared, report),
    ...eventMethods(shared, report),
    ...operatorMethods(shared, report),
    watchWorkspace: createWatchHandler(context, report),
  };
}

/** Returns the context of one call. */
const contextOf = (shared: Shared, call: ServedCall) => ({ ...shared, by: callerOf(call).name });

function workspaceMethods(shared: Shared, report: ReportFault) {
  const { now } = shared;
  const as = (call: ServedCall) => contextOf(shared, call);
  const answered = ({ workspace }: { workspace: Workspace }) => ({
    workspace: toWorkspaceMessage(workspace, now()),
  });
  /**
   * Returns an answer that contains the newest secret, which was just created. No other answer contains a secret. A
   * native workspace has no secret.
   */
  const answeredWithSecret = ({ workspace }: { workspace: Workspace }) => ({
    ...answered({ workspace }),
    signingSecret: workspace.secrets[0]?.value ?? "",
  });
  return {
    getCaller: unary("GetCaller", report, async (_request, call) => {
      const { name, workspaces: scope = [] } = callerOf(call);
      return { tokenName: name, workspaceIds: [...scope] };
    }),
    createWorkspace: unary("CreateWorkspace", report, async (request, call) =>
      answeredWithSecret(
        accepted(await createWorkspace(as(call), { ...request, platform: readPlatform(request.platform) })),
      ),
    ),
    getWorkspace: unary("GetWorkspace", report, async ({ workspaceId }) => {
      const workspace = await readWorkspace(shared, workspaceId);
      return { ...answered({ workspace }), health: toHealthMessage(await readHealth(shared, workspace)) };
    }),
    updateWorkspace: unary("UpdateWorkspace", report, async ({ workspaceId, name, ownerEmail }, call) =>
      answered(accepted(await updateWorkspace(as(call), readWorkspaceId(workspaceId), { name, ownerEmail }))),
    ),
    connectWorkspace: unary("ConnectWorkspace", report, async ({ workspaceId }, call) =>
      answeredWithSecret(accepted(await connectWorkspace(as(call), readWorkspaceId(workspaceId)))),
    ),
    disconnectWorkspace: unary("DisconnectWorkspace", report, async ({ workspaceId }, call) =>
      answered(accepted(await disconnectWorkspace(as(call), readWorkspaceId(workspaceId)))),
    ),
    deleteWorkspace: unary("DeleteWorkspace", report, async ({ workspaceId }, call) => {
      const deleted = await deleteWorkspace(as(call), readWorkspaceId(workspaceId));
      if (deleted !== "deleted") accepted(deleted);
      return {};
    }),
    rotateSigningSecret: unary("RotateSigningSecret", report, async ({ workspaceId }, call) =>
      answeredWithSecret(accepted(await rotateSigningSecret(as(call), readWorkspaceId(workspaceId)))),
    ),
    setTargetUrl: unary("SetTargetUrl", report, async ({ workspaceId, targetUrl }, call) =>
      answered(accepted(await setTargetUrl(as(call), readWorkspaceId(workspaceId), targetUrl))),
    ),
    listChanges: unary("ListChanges", report, async ({ workspaceId }) => {
      const { id } = await readWorkspace(shared, workspaceId);
      return { changes: (await shared.changeLog.read(id)).map(toChangeMessage) };
    }),
  } satisfies Partial<WorkspaceServiceServer>;
}

function eventMethods(shared: Shared, report: ReportFault) {
  return {
    sendTestEvent: unary("SendTestEvent", report, async ({ workspaceId }, call) => {
      const id = readWorkspaceId(workspaceId);
      const context = contextOf(shared, call);
      const holder = { workspaceId: id, by: context.by };
      return toTestMessage(accepted(await shared.tests.run(holder, () => sendTestEvent(context, id))));
    }),
    listDeliveries: unary("ListDeliveries", report, async ({ workspaceId, pageSize, pageToken }) => {
      const size = readPageSize(pageSize);
      if (pageToken !== "" && !LOG_ID_FORM.test(pageToken)) throw badPageToken();
      const { id } = await readWorkspace(shared, workspaceId);
      // Reads one more delivery than fits on the page, to find out whether there is a next page.
      const read = await shared.deliveryLog.read(id, size + 1, pageToken || undefined);
      const deliveries = read.slice(0, size);
      return {
        deliveries: deliveries.map(toDeliveryMessage),
        nextPageToken: read.length > size ? (deliveries.at(-1)?.id ?? "") : "",
      };
    }),
    getDelivery: unary("GetDelivery", report, async ({ workspaceId, deliveryId }) => {
      const id = readWorkspaceId(workspaceId);
      if (!LOG_ID_FORM.test(deliveryId)) {
        throw new StatusError(status.INVALID_ARGUMENT, "delivery_id must be the id of an entry of the log");
      }
      const found = await readDelivery(shared, id, deliveryId);
      if (found === "no-entry") {
        throw new StatusError(status.NOT_FOUND, "delivery_id: the log does not contain this entry");
      }
      return toDetailMessage(accepted(found));
    }),
    getEvent: unary("GetEvent", report, async ({ workspaceId, eventId }) => {
      const id = readWorkspaceId(workspaceId);
      if (!EVENT_ID_FORM.test(eventId)) {
        throw new StatusError(status.INVALID_ARGUMENT, "event_id must be evt_ and 26 letters and digits");
      }
      const found = await readEvent(shared, id, eventId);
      if (found === "no-event") {
        throw new StatusError(status.NOT_FOUND, "event_id: core stores nothing about this event");
      }
      return toEventMessage(accepted(found));
    }),
    listRequests: unary("ListRequests", report, async ({ workspaceId }) => {
      const { id } = await readWorkspace(shared, workspaceId);
      return { requests: toRequestsMessage(await shared.refusedRequests.read(id)) };
    }),
    checkSignature: unary("CheckSignature", report, async ({ workspaceId, signed, header }) => {
      const id = readWorkspaceId(workspaceId);
      return toCheckMessage(accepted(await checkSignature(shared, id, readSignedPart(signed), header)));
    }),
    listFailedEvents: unary("ListFailedEvents", report, async ({ workspaceId }) =>
      toFailedMessage(accepted(await listFailedEvents(shared, readWorkspaceId(workspaceId))).events),
    ),
    sendAgain: unary("SendAgain", report, async ({ workspaceId, eventIds }, call) => {
      const sent = await sendAgain(contextOf(shared, call), readWorkspaceId(workspaceId), eventIds);
      return toSentMessage(accepted(sent).results);
    }),
    setOperatorEventsAddress: unary("SetOperatorEventsAddress", report, async (request, call) => {
      const id = readWorkspaceId(request.workspaceId);
      const set = await setOperatorEventsAddress(contextOf(shared, call), id, request.address);
      const { workspace } = accepted(set);
      const signingSecret = workspace.operatorEvents?.secrets[0]?.value ?? "";
      return { workspace: toWorkspaceMessage(workspace, shared.now()), signingSecret };
    }),
    sendTestOperatorEvent: unary("SendTestOperatorEvent", report, async ({ workspaceId }, call) => {
      const id = workspaceId === "" ? undefined : readWorkspaceId(workspaceId);
      const sent = await shared.tests.run({ workspaceId: id, by: callerOf(call).name }, () =>
        sendOperatorTest(shared, id, cancelledSignal(call)),
      );
      const { eventId, results } = accepted(sent);
      const toResult = ({ receiver, became, detail }: (typeof results)[number]) => ({
        receiver,
        accepted: became === "accepted",
        detail,
      });
      return { eventId, results: results.map(toResult) };
    }),
  } satisfies Partial<WorkspaceServiceServer>;
}

/** The methods that concern the whole installation. */
function operatorMethods(shared: Shared, report: ReportFault) {
  const { secretKeys } = shared;
  return {
    listGroups: unary("ListGroups", report, async () => ({
      groups: (await listGroups(shared)).map((each) => toGroupMessage(each, shared.now())),
    })),
    deleteGroup: unary("DeleteGroup", report, async ({ name }, call) => {
      const deleted = await deleteGroup(shared.groups, name);
      if (deleted === "missing") throw new StatusError(status.NOT_FOUND, "there is no such group");
      if (deleted === "held") {
        const held =
          "a stream follows the group: stop the game or tail that follows it, and delete the group again";
        throw new StatusError(status.FAILED_PRECONDITION, held);
      }
      shared.onGroupDeleted(name, callerOf(call).name);
      return {};
    }),
    listSecretKeys: unary("ListSecretKeys", report, async ({ pageToken }) => {
      const page = existingPage(await secretKeys.list(pageToken));
      return {
        newestKey: secretKeys.newest,
        workspaces: page.uses
          .filter(({ keys }) => keys.length > 0)
          .map(({ workspaceId, keys, missingKeys: missing }) => ({
            workspaceId,
            keys: [...keys],
            missingKeys: [...missing],
          })),
        nextPageToken: page.next ?? "",
      };
    }),
    reEncryptSecrets: unary("ReEncryptSecrets", report, async ({ pageToken }) => {
      const page = existingPage(await secretKeys.reEncrypt(pageToken));
      const { changed, already, unreadable, total, next: nextPageToken = "" } = page;
      const newestKey = secretKeys.newest;
      return { newestKey, changed, already, unreadableIds: [...unreadable], total, nextPageToken };
    }),
    ...installationMethods(shared, report),
  } satisfies Partial<WorkspaceServiceServer>;
}

/** Pattern of the entry ids in the log of deliveries. */
const LOG_ID_FORM = /^\d{1,19}-\d{1,19}$/;

/** Returns a workspace. Throws NOT_FOUND when the workspace does not exist. */
async function readWorkspace({ workspaces }: Shared, workspaceId: string): Promise<Workspace> {
  return accepted((await workspaces.read(readWorkspaceId(workspaceId))) ?? NOT_FOUND).workspace;
}

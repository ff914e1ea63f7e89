import { status } from "@grpc/grpc-js";
import {
  DeliveryMode as ModeCode,
  Platform as PlatformCode,
  type Workspace as WorkspaceMessage,
  type WorkspaceServiceServer,
} from "../../proto/gen/chatbridge/v1/workspace";
import { OUTSIDE_CALLS_MAX } from "../domain/bounds";
import {
  activeSecrets,
  deliveryMode,
  lapsesAtMs,
  missingKey,
  type DeliveryMode,
  type Platform,
  type Workspace,
} from "../domain/workspace";
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
import { createCallsInProgress } from "../operations/calls-in-progress";
import { listFailedEvents, sendAgain, type FailedEventsContext } from "../operations/failed-events";
import {
  sendOperatorTest,
  setOperatorEventsAddress,
  type OperatorTestContext,
} from "../operations/operator-events";
import { deleteGroup, listGroups, type GroupsContext } from "../operations/groups";
import { readDelivery } from "../operations/read-delivery";
import { readHealth } from "../operations/read-health";
import type { SecretKeys } from "../ports/secret-keys";
import { sendTestEvent, type TestEventContext } from "../operations/send-test-event";
import { callerOf, cancelledSignal, type ServedCall } from "./call-caller";
import { toChangeMessage, toDeliveryMessage, toHealthMessage, toTestMessage } from "./delivery-message";
import { toGroupMessage } from "./group-message";
import { readPageSize } from "./page-size";
import { toDetailMessage, toFailedMessage, toSentMessage } from "./stored-message";
import { accepted, readWorkspaceId, StatusError, unary, type ReportFault } from "./status";
import { createWatchHandler, type WatchContext } from "./watch-stream";

/** `by` is the caller of a single call, so it is not part of the service's context. The service creates `urlChecks`. */
export type WorkspaceServiceContext = Omit<
  WorkspaceContext & TestEventContext & FailedEventsContext & OperatorTestContext,
  "by" | "urlChecks"
> &
  WatchContext &
  GroupsContext & {
    readonly secretKeys: SecretKeys;
    /** Returns what operators should know about the whole installation; undefined when there is nothing to know. */
    notice(): string | undefined;
    /** Called when an operator has deleted a group of followers. */
    onGroupDeleted(group: string, by: string): void;
  };

export function createWorkspaceService(
  context: WorkspaceServiceContext,
  report: ReportFault,
): WorkspaceServiceServer {
  const { workspaces, now } = context;
  const tests = createCallsInProgress("test events", OUTSIDE_CALLS_MAX);
  const urlChecks = createCallsInProgress("checks of URLs", OUTSIDE_CALLS_MAX);
  const as = (call: ServedCall) => ({ ...context, urlChecks, by: callerOf(call).name });
  const message = (workspace: Workspace): WorkspaceMessage => toMessage(workspace, now());
  const answered = ({ workspace }: { workspace: Workspace }) => ({ workspace: message(workspace) });
  /**
   * Returns an answer that contains the newest secret, which was just created. No other answer contains a secret. A
   * native workspace has no secret.
   */
  const answeredWithSecret = ({ workspace }: { workspace: Workspace }) => ({
    workspace: message(workspace),
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
      const { workspace } = accepted((await workspaces.read(readWorkspaceId(workspaceId))) ?? NOT_FOUND);
      return { workspace: message(workspace), health: toHealthMessage(await readHealth(context, workspace)) };
    }),
    listWorkspaces: unary("ListWorkspaces", report, async ({ pageSize, pageToken }, call) => {
      const scope = callerOf(call).workspaces;
      const page = await workspaces.list(readPageSize(pageSize), pageToken || undefined, scope);
      if (page === undefined) throw badPageToken();
      // A limited token is for the owner of some workspaces, who cannot act on the memory of the installation.
      const notice = (scope === undefined && context.notice()) || "";
      return { workspaces: page.workspaces.map(message), nextPageToken: page.next ?? "", notice };
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
    sendTestEvent: unary("SendTestEvent", report, async ({ workspaceId }, call) => {
      const id = readWorkspaceId(workspaceId);
      const { name } = callerOf(call);
      const sent = await tests.run({ workspaceId: id, by: name }, () => sendTestEvent(as(call), id));
      return toTestMessage(accepted(sent));
    }),
    listDeliveries: unary("ListDeliveries", report, async ({ workspaceId, pageSize, pageToken }) => {
      const size = readPageSize(pageSize);
      if (pageToken !== "" && !LOG_ID_FORM.test(pageToken)) throw badPageToken();
      const { workspace } = accepted((await workspaces.read(readWorkspaceId(workspaceId))) ?? NOT_FOUND);
      // Reads one delivery more than fits in the page, to find out whether there is a next page.
      const read = await context.deliveryLog.read(workspace.id, size + 1, pageToken || undefined);
      const deliveries = read.slice(0, size);
      return {
        deliveries: deliveries.map(toDeliveryMessage),
        nextPageToken: read.length > size ? (deliveries.at(-1)?.id ?? "") : "",
      };
    }),
    listChanges: unary("ListChanges", report, async ({ workspaceId }) => {
      const { workspace } = accepted((await workspaces.read(readWorkspaceId(workspaceId))) ?? NOT_FOUND);
      return { changes: (await context.changeLog.read(workspace.id)).map(toChangeMessage) };
    }),
    watchWorkspace: createWatchHandler(context, report),
    getDelivery: unary("GetDelivery", report, async ({ workspaceId, deliveryId }) => {
      const id = readWorkspaceId(workspaceId);
      if (!LOG_ID_FORM.test(deliveryId)) throw badDeliveryId();
      const found = await readDelivery(context, id, deliveryId);
      if (found === "no-entry") throw noEntry();
      return toDetailMessage(accepted(found));
    }),
    listFailedEvents: unary("ListFailedEvents", report, async ({ workspaceId }) =>
      toFailedMessage(accepted(await listFailedEvents(context, readWorkspaceId(workspaceId))).events),
    ),
    sendAgain: unary("SendAgain", report, async ({ workspaceId, eventIds }, call) =>
      toSentMessage(accepted(await sendAgain(as(call), readWorkspaceId(workspaceId), eventIds)).results),
    ),
    setOperatorEventsAddress: unary("SetOperatorEventsAddress", report, async (request, call) => {
      const id = readWorkspaceId(request.workspaceId);
      const { workspace } = accepted(await setOperatorEventsAddress(as(call), id, request.address));
      const signingSecret = workspace.operatorEvents?.secrets[0]?.value ?? "";
      return { workspace: message(workspace), signingSecret };
    }),
    sendTestOperatorEvent: unary("SendTestOperatorEvent", report, async ({ workspaceId }, call) => {
      const id = workspaceId === "" ? undefined : readWorkspaceId(workspaceId);
      const sent = await tests.run({ workspaceId: id, by: callerOf(call).name }, () =>
        sendOperatorTest(context, id, cancelledSignal(call)),
      );
      const { eventId, results } = accepted(sent);
      const toResult = ({ receiver, became, detail }: (typeof results)[number]) => ({
        receiver,
        accepted: became === "accepted",
        detail,
      });
      return { eventId, results: results.map(toResult) };
    }),
    listGroups: unary("ListGroups", report, async () => ({
      groups: (await listGroups(context)).map((each) => toGroupMessage(each, now())),
    })),
    deleteGroup: unary("DeleteGroup", report, async ({ name }, call) => {
      const deleted = await deleteGroup(context.groups, name);
      if (deleted === "missing") throw new StatusError(status.NOT_FOUND, "there is no such group");
      if (deleted === "held") {
        const held =
          "a stream follows the group: stop the game or tail that follows it, and delete the group again";
        throw new StatusError(status.FAILED_PRECONDITION, held);
      }
      context.onGroupDeleted(name, callerOf(call).name);
      return {};
    }),
    listSecretKeys: unary("ListSecretKeys", report, async ({ pageToken }) => {
      const page = await context.secretKeys.list(pageToken);
      if (page === undefined) throw badPageToken();
      return {
        newestKey: context.secretKeys.newest,
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
      const page = await context.secretKeys.reEncrypt(pageToken);
      if (page === undefined) throw badPageToken();
      const { changed, already, unreadable, total, next: nextPageToken = "" } = page;
      const newestKey = context.secretKeys.newest;
      return { newestKey, changed, already, unreadableIds: [...unreadable], total, nextPageToken };
    }),
  };
}

/** The form of the ids in the log of deliveries. */
const LOG_ID_FORM = /^\d{1,19}-\d{1,19}$/;

function badPageToken(): StatusError {
  return new StatusError(status.INVALID_ARGUMENT, "page_token is not the next_page_token of another page");
}

function badDeliveryId(): StatusError {
  return new StatusError(status.INVALID_ARGUMENT, "delivery_id must be the id of an entry of the log");
}

function noEntry(): StatusError {
  return new StatusError(status.NOT_FOUND, "delivery_id: the log does not have this entry");
}

function readPlatform(code: PlatformCode): Platform {
  switch (code) {
    case PlatformCode.UNSPECIFIED:
    case PlatformCode.CUSTOM:
      return "custom";
    case PlatformCode.NATIVE:
      return "native";
    default:
      throw new StatusError(status.INVALID_ARGUMENT, "platform is not a value of Platform");
  }
}

const PLATFORM_CODES: Readonly<Record<Platform, PlatformCode>> = {
  custom: PlatformCode.CUSTOM,
  native: PlatformCode.NATIVE,
};

const MODE_CODES: Readonly<Record<DeliveryMode, ModeCode>> = {
  poll: ModeCode.POLL,
  push: ModeCode.PUSH,
  none: ModeCode.UNSPECIFIED,
};

function toMessage(workspace: Workspace, nowMs: number): WorkspaceMessage {
  return {
    id: workspace.id,
    name: workspace.name,
    ownerEmail: workspace.ownerEmail,
    platform: PLATFORM_CODES[workspace.platform],
    connected: workspace.connected,
    targetUrl: workspace.targetUrl,
    mode: MODE_CODES[deliveryMode(workspace)],
    secrets: activeSecrets(workspace, nowMs).map((secret) => {
      const lapses = lapsesAtMs(secret);
      return {
        createdAt: new Date(secret.createdAtMs),
        expiresAt: lapses === undefined ? undefined : new Date(lapses),
      };
    }),
    createdAt: new Date(workspace.createdAtMs),
    operatorEventsAddress: workspace.operatorEvents?.address ?? "",
    missingKey: missingKey(workspace, nowMs) ?? "",
    operatorEventsMissingKey: (workspace.operatorEvents && missingKey(workspace.operatorEvents, nowMs)) ?? "",
  };
}

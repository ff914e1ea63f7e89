import { status } from "@grpc/grpc-js";
import {
  ConnectWorkspaceResponse,
  CreateWorkspaceResponse,
  DeliveryMode as ModeCode,
  Platform as PlatformCode,
  Workspace as WorkspaceMessage,
  type WorkspaceServiceServer,
} from "../../proto/gen/chatbridge/v1/workspace";
import {
  activeSecrets,
  deliveryMode,
  lapsesAtMs,
  type DeliveryMode,
  type Platform,
  type Workspace,
} from "../domain/workspace";
import { parseWorkspaceId } from "../domain/workspace-id";
import { connectWorkspace } from "../operations/connect-workspace";
import { createWorkspace } from "../operations/create-workspace";
import { deleteWorkspace } from "../operations/delete-workspace";
import { disconnectWorkspace } from "../operations/disconnect-workspace";
import { rotateSigningSecret } from "../operations/rotate-signing-secret";
import { setTargetUrl } from "../operations/set-target-url";
import { updateWorkspace } from "../operations/update-workspace";
import { NOT_FOUND, type WorkspaceContext } from "../operations/workspace-change";
import { accepted, StatusError, unary, type ReportFault } from "./status";

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;

export function createWorkspaceService(
  context: WorkspaceContext,
  report: ReportFault,
): WorkspaceServiceServer {
  const { workspaces, now } = context;
  const message = (workspace: Workspace): WorkspaceMessage => toMessage(workspace, now());
  const answered = ({ workspace }: { workspace: Workspace }) => ({ workspace: message(workspace) });
  const answeredWithSecret = ({ workspace, secret }: { workspace: Workspace; secret: string }) => ({
    workspace: message(workspace),
    signingSecret: secret,
  });

  return {
    createWorkspace: unary("CreateWorkspace", report, async (request) =>
      CreateWorkspaceResponse.create(
        answeredWithSecret(
          accepted(await createWorkspace(context, { ...request, platform: readPlatform(request.platform) })),
        ),
      ),
    ),
    getWorkspace: unary("GetWorkspace", report, async ({ workspaceId }) =>
      answered(accepted((await workspaces.read(readId(workspaceId))) ?? NOT_FOUND)),
    ),
    listWorkspaces: unary("ListWorkspaces", report, async ({ pageSize, pageToken }) => {
      if (pageSize > PAGE_MAX)
        throw new StatusError(status.INVALID_ARGUMENT, `page_size must be at most ${PAGE_MAX}`);
      const page = await workspaces.list(pageSize || PAGE_DEFAULT, pageToken || undefined);
      if (page === undefined)
        throw new StatusError(status.INVALID_ARGUMENT, "page_token is not a next_page_token");
      return { workspaces: page.workspaces.map(message), nextPageToken: page.next ?? "" };
    }),
    updateWorkspace: unary("UpdateWorkspace", report, async ({ workspaceId, name, ownerEmail }) =>
      answered(accepted(await updateWorkspace(context, readId(workspaceId), { name, ownerEmail }))),
    ),
    connectWorkspace: unary("ConnectWorkspace", report, async ({ workspaceId }) =>
      ConnectWorkspaceResponse.create(
        answeredWithSecret(accepted(await connectWorkspace(context, readId(workspaceId)))),
      ),
    ),
    disconnectWorkspace: unary("DisconnectWorkspace", report, async ({ workspaceId }) =>
      answered(accepted(await disconnectWorkspace(context, readId(workspaceId)))),
    ),
    deleteWorkspace: unary("DeleteWorkspace", report, async ({ workspaceId }) => {
      const deleted = await deleteWorkspace(context, readId(workspaceId));
      if (deleted !== "deleted") accepted(deleted);
      return {};
    }),
    rotateSigningSecret: unary("RotateSigningSecret", report, async ({ workspaceId }) =>
      answeredWithSecret(accepted(await rotateSigningSecret(context, readId(workspaceId)))),
    ),
    setTargetUrl: unary("SetTargetUrl", report, async ({ workspaceId, targetUrl }) =>
      answered(accepted(await setTargetUrl(context, readId(workspaceId), targetUrl))),
    ),
  };
}

/** What is no uuid names no workspace. */
function readId(text: string): string {
  return parseWorkspaceId(text) ?? accepted(NOT_FOUND as never);
}

function readPlatform(code: PlatformCode): Platform {
  switch (code) {
    case PlatformCode.UNSPECIFIED:
    case PlatformCode.CUSTOM:
      return "custom";
    case PlatformCode.NATIVE:
      return "native";
    default:
      throw new StatusError(status.INVALID_ARGUMENT, "platform is none of the list");
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
  return WorkspaceMessage.create({
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
  });
}

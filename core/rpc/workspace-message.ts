import { status } from "@grpc/grpc-js";
import {
  DeliveryMode as ModeCode,
  Platform as PlatformCode,
  type Workspace as WorkspaceMessage,
} from "../../proto/gen/chatbridge/v1/workspace";
import {
  activeSecrets,
  deliveryMode,
  lapsesAtMs,
  missingKey,
  type DeliveryMode,
  type Platform,
  type Workspace,
} from "../domain/workspace";
import { toDate } from "./delivery-message";
import { StatusError } from "./status";

export function readPlatform(code: PlatformCode): Platform {
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

export function toWorkspaceMessage(workspace: Workspace, nowMs: number): WorkspaceMessage {
  return {
    id: workspace.id,
    name: workspace.name,
    ownerEmail: workspace.ownerEmail,
    platform: PLATFORM_CODES[workspace.platform],
    connected: workspace.connected,
    targetUrl: workspace.targetUrl,
    mode: MODE_CODES[deliveryMode(workspace)],
    secrets: activeSecrets(workspace, nowMs).map((secret) => ({
      createdAt: new Date(secret.createdAtMs),
      expiresAt: toDate(lapsesAtMs(secret)),
    })),
    createdAt: new Date(workspace.createdAtMs),
    operatorEventsAddress: workspace.operatorEvents?.address ?? "",
    missingKey: missingKey(workspace, nowMs) ?? "",
    operatorEventsMissingKey: (workspace.operatorEvents && missingKey(workspace.operatorEvents, nowMs)) ?? "",
  };
}

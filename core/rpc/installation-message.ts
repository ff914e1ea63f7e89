import { status } from "@grpc/grpc-js";
import type {
  GetInstallationResponse,
  GetProbedAddressRequest,
  RedisMaster,
} from "../../proto/gen/chatbridge/v1/installation";
import type { WorkspaceServiceServer } from "../../proto/gen/chatbridge/v1/workspace";
import type { BackupTimes, Durability } from "../ports/durability";
import type { Installation, MasterFacts, StoreFacts } from "../ports/installation";
import type { Clock } from "../ports/outside";
import { parseWorkspaceId } from "../domain/workspace";
import type { AcceptedTokens } from "./accepted-tokens";
import type { AddressProbes } from "./address-probes";
import { StatusError, unary, type ReportFault } from "./status";
import { toDate } from "./workspace-messages";

/** The settings of core that operators may see. */
export interface InstallationSettings {
  readonly version: string;
  readonly commit: string;
  readonly waitReplicas: number;
  /** CIDRs. */
  readonly pushAllow: readonly string[];
  readonly listensBeyondLoopback: boolean;
  readonly usesTls: boolean;
  readonly sendsMail: boolean;
}

export interface InstallationContext {
  readonly installation: Installation;
  readonly settings: InstallationSettings;
  readonly durability: Pick<Durability, "readBackups">;
  /** The values of tokens never leave core. */
  readonly tokens: Pick<AcceptedTokens, "describe">;
  readonly addressProbes: Pick<AddressProbes, "announce">;
  /** The lease group whose members are all cores. */
  readonly coresGroup: string;
  readonly now: Clock;
  /** Returns the number of workspaces with unreadable secrets; undefined before the first count. */
  unreadableSecrets(): number | undefined;
}

/** Returns the handlers for `GetInstallation` and `GetProbedAddress`. */
export function installationMethods(context: InstallationContext, report: ReportFault) {
  const { installation, coresGroup, durability, addressProbes } = context;
  return {
    getInstallation: unary("GetInstallation", report, async () => {
      const [facts, backups] = await Promise.all([installation.read(coresGroup), durability.readBackups()]);
      return toMessage(context, facts, backups);
    }),
    getProbedAddress: unary("GetProbedAddress", report, async ({ probeId }: GetProbedAddressRequest) => {
      const id = parseWorkspaceId(probeId);
      if (id === undefined) throw new StatusError(status.INVALID_ARGUMENT, "probe_id must be a UUID");
      return { sourceAddress: addressProbes.announce(id) };
    }),
  } satisfies Partial<WorkspaceServiceServer>;
}

function toMessage(
  context: InstallationContext,
  facts: StoreFacts,
  { completeAt, failedAt }: BackupTimes,
): GetInstallationResponse {
  const { pushAllow, ...settings } = context.settings;
  return {
    ...settings,
    ...facts,
    masters: facts.masters.map(toMaster),
    backupAt: toDate(completeAt * 1_000 || undefined),
    backupFailedAt: toDate(failedAt * 1_000 || undefined),
    machineAt: new Date(Date.now()),
    serviceAt: new Date(context.now()),
    unreadableWorkspaces: context.unreadableSecrets(),
    tokens: context.tokens.describe().map(({ role, name, workspaces, weakness = "" }) => ({
      role,
      name,
      isLimited: workspaces !== undefined,
      weakness,
    })),
    pushAllow: [...pushAllow],
  };
}

function toMaster({ server, info, settings }: MasterFacts): RedisMaster {
  return {
    server,
    settings,
    info: info && {
      ...info,
      maxBytes: info.maxBytes ?? 0,
      maxIsAssumed: info.isMaxAssumed,
      fileWrite: info.fileWrite ?? "",
      fileRewrite: info.fileRewrite ?? "",
      fileBytes: info.fileBytes ?? 0,
    },
  };
}

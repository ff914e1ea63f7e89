import type { GetInstallationResponse, RedisMaster } from "../../proto/gen/chatbridge/v1/installation";
import { weaknessOf } from "../domain/token-weakness";
import type { Installation, MasterFacts, StoreFacts } from "../ports/installation";
import type { Clock } from "../ports/outside";
import type { KnownToken } from "./known-tokens";
import { unary, type ReportFault } from "./status";
import { toDate } from "./workspace-messages";

/** The settings of core that operators may know. The values of tokens never leave core. */
export interface InstallationSettings {
  readonly version: string;
  readonly commit: string;
  readonly tokens: readonly KnownToken[];
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
  /** The lease group whose members are all cores. */
  readonly coresGroup: string;
  readonly now: Clock;
  /** Returns the number of workspaces with unreadable secrets; undefined before the first count. */
  unreadableSecrets(): number | undefined;
}

/** Returns the handler of `GetInstallation`. */
export function installationMethod(context: InstallationContext, report: ReportFault) {
  return unary("GetInstallation", report, async (_request: object): Promise<GetInstallationResponse> =>
    toMessage(context, await context.installation.read(context.coresGroup)),
  );
}

function toMessage(context: InstallationContext, facts: StoreFacts): GetInstallationResponse {
  const { tokens, pushAllow, ...settings } = context.settings;
  return {
    ...settings,
    ...facts,
    masters: facts.masters.map(toMaster),
    backupAt: toDate(facts.backupAtMs),
    machineAt: new Date(Date.now()),
    serviceAt: new Date(context.now()),
    unreadableWorkspaces: context.unreadableSecrets(),
    tokens: tokens.map(({ role, name, token, workspaces }) => ({
      role,
      name,
      isLimited: workspaces !== undefined,
      weakness: weaknessOf(token) ?? "",
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
    },
  };
}

import { status, type ServiceError } from "@grpc/grpc-js";
import { STORE_FULL } from "../proto/codes";
import { failureCause } from "../runtime/core-channel";
import { SettingsError } from "../runtime/settings";
import { EXIT, type ExitCode } from "./exit-code";

/** An expected failure of a command. `runCli` prints the message without a stack. */
export class CliFailure extends Error {
  override readonly name = "CliFailure";
  constructor(
    readonly exitCode: ExitCode,
    message: string,
  ) {
    super(message);
  }
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && typeof error.code === "number" && "details" in error;
}

export type Role = "operator" | "game";

/** Core's address, the role that the caller's token must have, and whether the call only reads. */
export interface Called {
  readonly address: string;
  readonly role: Role;
  /** Whether the call changes nothing. */
  readonly isRead: boolean;
}

/** Path patterns of the calls that change nothing, e.g. "/chatbridge.v1.WorkspaceService/ListWorkspaces". */
const READ = /\/(?:Get|List|Count|Summarize|Watch|Follow)[^/]*$/;

/** Returns whether a method of a generated gRPC client changes nothing. An unknown method counts as a change. */
export function isReadMethod(method: object): boolean {
  return "path" in method && typeof method.path === "string" && READ.test(method.path);
}

/** Returns the failure, with its message and exit code, for a call that core rejected or did not answer. */
export function callFailure(error: ServiceError, { address, role, isRead }: Called): CliFailure {
  const { code } = error;
  const details = failureCause(error.details);
  const core = `core at ${address}`;
  const failure = (exitCode: ExitCode, message: string): CliFailure => new CliFailure(exitCode, message);
  if (code === status.UNAVAILABLE && details.startsWith(STORE_FULL)) {
    return failure(
      EXIT.OUT_OF_REACH,
      `${core} rejects the ${isRead ? "call" : "change"}: ${details}; then try again`,
    );
  }
  switch (code) {
    case status.UNAVAILABLE:
    case status.DEADLINE_EXCEEDED:
      return failure(
        EXIT.OUT_OF_REACH,
        `${core} is unavailable (${details}): check that core is running, and check CORE_ADDRESS or --core, ` +
          `and CORE_TLS_CA if core uses TLS${isRead ? "" : "; the change may or may not have been made"}`,
      );
    case status.RESOURCE_EXHAUSTED:
      return failure(EXIT.OUT_OF_REACH, `${core} rejects the call for now: ${details}`);
    case status.UNAUTHENTICATED:
      return failure(
        EXIT.TOKEN,
        `${core} rejects the token: use a token of the role ${role} from core's CORE_TOKENS or CORE_TOKENS_FILE`,
      );
    case status.PERMISSION_DENIED:
      return failure(EXIT.TOKEN, `${core} does not allow this call with this token: ${details}`);
    case status.NOT_FOUND:
      return failure(
        EXIT.NOT_FOUND,
        `${details}; run chat-bridge workspace list to see the workspaces of the token`,
      );
    case status.FAILED_PRECONDITION:
    case status.ABORTED:
      return failure(EXIT.NO, `core rejected the call: ${details}`);
    case status.INVALID_ARGUMENT:
      return failure(EXIT.DATA, `core rejected the call: ${details}`);
    case status.UNIMPLEMENTED:
      return failure(
        EXIT.FAULT,
        `${core} runs an older release, which does not have this call: upgrade core`,
      );
    default:
      return failure(EXIT.FAULT, `core failed: ${details} (${status[code]})`);
  }
}

/** Returns the failure for invalid settings. The message lists all faults, and says where to put the token. */
export function settingsFailure({ faults }: SettingsError): CliFailure {
  return new CliFailure(
    EXIT.SETTINGS,
    [
      "invalid settings:",
      ...faults.map((fault) => `  - ${fault}`),
      "Put the token in CORE_TOKEN, or in a file that CORE_TOKEN_FILE or --token-file names",
      "(.data/settings.json for a service that npm start runs). The token is never an argument,",
      "because other users of this machine can read arguments.",
    ].join("\n"),
  );
}

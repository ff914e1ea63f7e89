import { status, type ServiceError } from "@grpc/grpc-js";
import { SettingsError } from "../runtime/settings";
import { EXIT, type ExitCode } from "./exit-code";

/** Why a command ends without having done what it was asked: told in a line or two, without a stack. */
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
  return (
    typeof error === "object" &&
    error !== null &&
    typeof (error as Partial<ServiceError>).code === "number" &&
    "details" in error
  );
}

/** Where a call went, and as whom. */
export interface Called {
  readonly address: string;
  readonly role: string;
}

/** What someone at a terminal is told of a call that failed. */
export function callFailure(error: ServiceError, { address, role }: Called): CliFailure {
  const { code } = error;
  const details = error.details.replaceAll(/\s+/g, " ").replace(/\.? Resolution note: $/, "");
  switch (code) {
    case status.UNAVAILABLE:
    case status.DEADLINE_EXCEEDED:
    case status.RESOURCE_EXHAUSTED:
      return new CliFailure(
        EXIT.OUT_OF_REACH,
        `core at ${address} is out of reach (${details}): check CORE_ADDRESS or --core, CORE_TLS_CA where it ` +
          "uses TLS, and that it runs. Whether a change was made is unknown.",
      );
    case status.UNAUTHENTICATED:
      return new CliFailure(
        EXIT.TOKEN,
        `core at ${address} does not know the token: it must be one of the role ${role} in CORE_TOKENS of core.`,
      );
    case status.PERMISSION_DENIED:
      return new CliFailure(
        EXIT.TOKEN,
        `core at ${address} knows the token, but it is of another role: this needs one of the role ${role}.`,
      );
    case status.NOT_FOUND:
      return new CliFailure(
        EXIT.NOT_FOUND,
        `${details} (any more); chat-bridge workspace list says which there are.`,
      );
    case status.FAILED_PRECONDITION:
    case status.ABORTED:
      return new CliFailure(EXIT.NO, `core refuses: ${details}`);
    case status.INVALID_ARGUMENT:
      return new CliFailure(EXIT.DATA, `core refuses: ${details}`);
    default:
      return new CliFailure(EXIT.FAULT, `core has failed: ${details} (${status[code]})`);
  }
}

/** What someone is told of settings that are not right. */
export function settingsFailure({ faults }: SettingsError): CliFailure {
  return new CliFailure(
    EXIT.SETTINGS,
    [
      "the settings are not right:",
      ...faults.map((fault) => `  - ${fault}`),
      "The token goes in CORE_TOKEN, or in a file that CORE_TOKEN_FILE or --token-file names",
      "(of a service that npm start runs: .data/settings.json). It is never an argument, as",
      "everybody on the machine can read those.",
    ].join("\n"),
  );
}

import type { PollRefused } from "../kit/poll";
import { EXIT } from "./exit-code";
import { CliFailure } from "./failure";

/** The polled endpoint. */
export interface PolledAt {
  readonly baseUrl: string;
  readonly workspaceId: string;
}

/** Returns the message and the exit code for a poll that the service rejected. */
export function refusedPoll(
  { status, message }: PollRefused,
  { baseUrl, workspaceId }: PolledAt,
): CliFailure {
  switch (status) {
    case 401:
      return new CliFailure(
        EXIT.SETTINGS,
        `the service at ${baseUrl} rejects the signature: check that SIGNING_SECRET or the file of --secret-file ` +
          `has the current secret of workspace ${workspaceId}`,
      );
    case 403:
      return new CliFailure(
        EXIT.NO,
        `workspace ${workspaceId} has a target URL, so its events are pushed and cannot be polled: clear the URL with ` +
          `chat-bridge workspace set-url ${workspaceId} --clear, or in the dashboard, or use another workspace`,
      );
    case 404:
      return new CliFailure(
        EXIT.NOT_FOUND,
        `the service at ${baseUrl} has no connected workspace ${workspaceId} with a bridge: check the id and the base ` +
          "URL; run chat-bridge workspace list to see all workspaces",
      );
    case 409:
      return new CliFailure(EXIT.NO, message);
    default:
      return new CliFailure(
        EXIT.SETTINGS,
        `${message}: check that BASE_URL or --base-url is the service's base address for bridges, not ${baseUrl}`,
      );
  }
}

/** Returns the failure to report when the first poll returned no page. */
export function unansweredPoll(problem: string, { baseUrl }: PolledAt): CliFailure {
  return new CliFailure(
    EXIT.OUT_OF_REACH,
    `the service at ${baseUrl} cannot be polled (${problem}): check that the service is running, and check BASE_URL ` +
      "or --base-url",
  );
}

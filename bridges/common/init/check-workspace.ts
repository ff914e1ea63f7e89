import { PollRefused } from "chat-bridge-kit";
import { createPoll } from "chat-bridge-kit/poll";
import type { BridgeSettings } from "../bridge-settings";
import type { Finding } from "./bridge-init";

const ANSWER_WITHIN_MS = 15_000;

/** Advice on a poll that the service refuses, by HTTP status. */
const ADVICE: Readonly<Record<number, string>> = {
  401: "the signing secret does not belong to this workspace, or was rotated: check SIGNING_SECRET",
  403: "the workspace has a target URL, so its events are pushed: clear the URL in the dashboard, or set MODE=push",
  404: "there is no such workspace, or it is disconnected: check WORKSPACE_ID, or connect the workspace in the dashboard",
  409: "the clock of this machine differs from the service's clock by more than 5 minutes: correct the clock",
};

/** The kit's words about an answer that does not contain the service's error body. */
const NO_REASON = "the answer does not say why";
/** Id of a workspace that does not exist on any service. */
const NO_WORKSPACE = "00000000-0000-4000-8000-000000000000";

/** Checks that the service answers at an address, when no workspace exists yet. Resolves to the result. */
export async function checkAddress(baseUrl: string): Promise<Finding> {
  const advice = `check BASE_URL (${baseUrl}), and that the service is running`;
  const options = { baseUrl, workspaceId: NO_WORKSPACE, secrets: "none", timeoutMs: ANSWER_WITHIN_MS };
  try {
    const polled = await createPoll(options)(undefined, new AbortController().signal);
    return problem("problem" in polled ? polled.problem : "the answer is not from the service", advice);
  } catch (error) {
    if (!(error instanceof PollRefused)) return problem((error as Error).message, advice);
    // The service refuses the unknown workspace. Other servers do not answer in this form.
    const isService = [401, 404].includes(error.status) && !error.message.includes(NO_REASON);
    if (isService) return { is: "ok", text: `the service answers at ${baseUrl}` };
    return problem(error.message, advice);
  }
}

/** Makes one signed poll, which removes no events. Resolves to the result. */
export async function checkWorkspace(settings: BridgeSettings): Promise<Finding> {
  const { BASE_URL: baseUrl, WORKSPACE_ID: workspaceId, SIGNING_SECRET: secrets, MODE: mode } = settings;
  try {
    const poll = createPoll({ baseUrl, workspaceId, secrets, limit: 1, timeoutMs: ANSWER_WITHIN_MS });
    const polled = await poll(undefined, new AbortController().signal);
    if ("problem" in polled) {
      return problem(polled.problem, `check BASE_URL (${baseUrl}), and that the service is running`);
    }
    if (polled.page.events.length === 0)
      return { is: "ok", text: `the service at ${baseUrl} accepts signed polls` };
    return {
      is: "note",
      text: `the service at ${baseUrl} accepts signed polls, and holds events of the last 24 hours`,
      advice: [
        "the bridge first shows the held events that have not expired; use a new workspace to start without them",
      ],
    };
  } catch (error) {
    if (!(error instanceof PollRefused)) return problem((error as Error).message);
    // If the workspace has a target URL, the service checks a poll's signature before it refuses the poll.
    if (error.status === 403 && mode === "push") {
      return { is: "ok", text: `the service at ${baseUrl} accepts the signature, and pushes the events` };
    }
    return problem(error.message, ADVICE[error.status] ?? `check BASE_URL (${baseUrl})`);
  }
}

function problem(text: string, ...advice: readonly string[]): Finding {
  return { is: "problem", text, advice };
}

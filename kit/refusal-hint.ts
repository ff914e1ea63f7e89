/** Advice after a refusal, by status (bridge guide, "Errors"). */
const HINTS: Readonly<Record<number, string>> = {
  401: "check that the signing secret is the newest secret of this workspace in the dashboard",
  403: 'the workspace has a target URL: clear the URL in the dashboard, or set mode to "push"',
  404: "check the base URL and the workspace id, and that the workspace is connected in the dashboard",
  409: "set this machine's clock, for example with NTP",
};

/** Returns a sentence about a refusal by the service, with a hint if there is one. */
export function refusedBy(status: number, message: string): string {
  const hint = HINTS[status];
  return `the service answered with ${status}: ${message}${hint === undefined ? "" : ` (${hint})`}`;
}

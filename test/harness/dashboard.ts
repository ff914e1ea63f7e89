import { send, type Answer } from "./bridge";
import { startEdge, TOKENS, type RunningProcess } from "./processes";

export type DashboardEdge = Awaited<ReturnType<typeof startDashboardEdge>>;

export async function startDashboardEdge(
  corePort: number,
  environment: Record<string, string> = {},
  when: "ready" | "listening" = "ready",
) {
  const edge = await startEdge(corePort, { DASHBOARD_LISTEN: "127.0.0.1:0", ...environment }, when);
  return { edge, url: dashboardUrlOf(edge) };
}

export function dashboardUrlOf({ log }: RunningProcess): string {
  const { dashboardPort } = log.find(({ msg }) => msg === "edge is listening") ?? {};
  return `http://127.0.0.1:${String(dashboardPort)}`;
}

export interface ApiRequest {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The cookie that `signIn` returned. */
  readonly cookie?: string;
}

/** Sends a request to the dashboard's API as the dashboard's page does. A header with the value "" is omitted. */
export function askApi(
  url: string,
  path: string,
  { method = "GET", body, headers, cookie = "" }: ApiRequest = {},
): Promise<Answer> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const all = {
    "x-dashboard": "1",
    "sec-fetch-site": "same-origin",
    "content-type": text && "application/json",
    "content-length": text && String(Buffer.byteLength(text)),
    cookie,
    ...headers,
  };
  return send(url, `/api${path}`, {
    method,
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== "")),
    body: text,
  });
}

/** Signs in. Returns the cookie for further requests. */
export async function signIn(url: string, token: string = TOKENS.operator): Promise<string> {
  const answer = await askApi(url, "/session", { method: "POST", body: { token } });
  const [cookie] = answer.headers["set-cookie"] ?? [];
  if (cookie === undefined) throw new Error(`not signed in: ${answer.body.toString()}`);
  return cookie.slice(0, cookie.indexOf(";"));
}

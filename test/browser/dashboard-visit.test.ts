import { testBrowser } from "../harness/browser";
import { askApi, dashboardUrlOf, startDashboardEdge, type DashboardEdge } from "../harness/dashboard";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const CHAT = "token-of-the-chat-for-tests";
const OTHER = "token-of-another-workspace";
const CHAT_URL = "http://127.0.0.1:8083";
const service = sharedService();
const browser = testBrowser();
let core: TestProcess;
let dashboard: DashboardEdge;
let workspace: TestWorkspace;

beforeAll(async () => {
  workspace = await service.workspaces.make({ name: "The demo" });
  const other = await service.workspaces.make();
  const tokens = [
    `edge=${TOKENS.edge}`,
    `operator=${TOKENS.operator}`,
    `operator:chat@${workspace.id}=${CHAT}`,
    `operator:other@${other.id}=${OTHER}`,
  ];
  core = await startCore(service.redis.url, { CORE_TOKENS: tokens.join() });
  const settings = { DEMO_WORKSPACE_ID: workspace.id, DEMO_CHAT_URL: CHAT_URL };
  dashboard = await startDashboardEdge(core.port, settings);
});
afterAll(async () => {
  await dashboard.edge.stop();
  await core.stop();
});

const makeLink = (body: object | undefined, token = CHAT) =>
  askApi(dashboard.url, "/sign-in-links", {
    method: "POST",
    body,
    headers: { authorization: `Bearer ${token}` },
  });
const pageOf = () => `/workspaces/${workspace.id}`;
const visitPath = async () => {
  const { json } = await makeLink({ next: pageOf(), keepSession: true });
  return (json as { path: string }).path;
};

test("a sign-in link can lead to a page of the dashboard; the answer to the sign-in lists the token's workspaces", async () => {
  const { status, json } = await makeLink({ next: `${pageOf()}?state=failing` });
  expect(status).toBe(201);
  expect(json).toMatchObject({ workspaces: [workspace.id] });
  const { path } = json as { path: string };
  expect(path).toMatch(new RegExp(`^${pageOf()}\\?state=failing#sign-in=[\\w-]{43}$`));
  const { page } = await browser.visit(dashboard.url + path);
  await page.getByRole("heading", { name: "The demo", level: 1 }).waitFor();
  expect(page.url()).toBe(`${dashboard.url}${pageOf()}?state=failing`);
});

test.each([
  "//evil.example",
  "/\\evil.example",
  "https://evil.example/",
  "evil.example",
  "/%2f/evil.example",
  "/a//evil.example",
  "/a/..//evil.example",
  "/#sign-in=x",
  "",
  `/${"x".repeat(512)}`,
])("a sign-in link cannot lead to %j", async (next) => {
  expect((await makeLink({ next })).status).toBe(400);
});

test("the sign-in page names the commands that print a link", async () => {
  const { page } = await browser.visit(dashboard.url);
  const commands = page.locator("form code");
  await commands.first().waitFor();
  expect(await commands.allInnerTexts()).toEqual(
    expect.arrayContaining([
      "sudo chat-bridge sign-in",
      "docker compose run --rm operator sign-in",
      "npm start",
    ]),
  );
});

test("a link that keeps the session still signs in a person who has no session, or whose session cannot see the page", async () => {
  const { page, context } = await browser.visit(dashboard.url + (await visitPath()));
  await page.getByRole("heading", { name: "The demo", level: 1 }).waitFor();
  expect(page.url()).toBe(dashboard.url + pageOf());
  await page.locator(".token-name").getByText("chat").waitFor();

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Operator's token").fill(OTHER);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".token-name").getByText("other").waitFor();
  const second = await context.newPage();
  await second.goto(dashboard.url + (await visitPath()));
  await second.getByRole("heading", { name: "The demo", level: 1 }).waitFor();
  await second.locator(".token-name").getByText("chat").waitFor();
});

test("a link that keeps the session does not replace the session of an operator who can see the page", async () => {
  const { page } = await browser.visitSignedIn(dashboard.url);
  const path = await visitPath();
  await page.goto(dashboard.url + path);
  await page.getByRole("heading", { name: "The demo", level: 1 }).waitFor();
  await page.locator(".token-name").getByText("operator").waitFor();
  expect(page.url()).toBe(dashboard.url + pageOf());
  // The link's code is unused, so another browser can still sign in with the link.
  const other = await browser.visit(dashboard.url + path);
  await other.page.getByRole("heading", { name: "The demo", level: 1 }).waitFor();
});

test("a link that keeps the session does not replace it if the service cannot say whether the session exists", async () => {
  const { page } = await browser.visitSignedIn(dashboard.url);
  await page.route("**/api/session", (route) => route.fulfill({ status: 503, body: "{}" }), { times: 1 });
  await page.goto(dashboard.url + (await visitPath()));
  await page.getByRole("heading", { name: "The demo", level: 1 }).waitFor();
  await page.locator(".token-name").getByText("operator").waitFor();
});

test("only a dashboard with a demo's chat lets the chat reuse its window, and gives the chat's URL to tokens that may see the chat's workspace", async () => {
  const demoOf = async (url: string, token: string) => {
    const { json } = await askApi(url, "/session", { method: "POST", body: { token } });
    return (json as { demo?: unknown }).demo;
  };
  const demo = { workspaceId: workspace.id, chatUrl: CHAT_URL };
  expect(await demoOf(dashboard.url, CHAT)).toEqual(demo);
  expect(await demoOf(dashboard.url, TOKENS.operator)).toEqual(demo);
  expect(await demoOf(dashboard.url, OTHER)).toBeUndefined();
  expect(await demoOf(service.dashboardUrl, TOKENS.operator)).toBeUndefined();
  const policyOf = async (url: string) =>
    (await fetch(`${url}/workspaces/x`)).headers.get("cross-origin-opener-policy");
  expect(await policyOf(dashboardUrlOf(dashboard.edge))).toBe("unsafe-none");
  expect(await policyOf(service.dashboardUrl)).toBe("same-origin");
});
